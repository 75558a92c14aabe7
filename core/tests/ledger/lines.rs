//! The text of export lines: members, their order, and how strings are escaped.

use amends_core::ids::{Offset, Partition};
use amends_core::ledger::code::Code;
use amends_core::ledger::export::{
    Cause, EvidenceLine, FrontierLine, OutboxEnvelope, PositionLine, QuarantineLine, line,
};
use amends_core::ledger::positions::{Closing, State};
use amends_core::source::manifest::StockKey;

#[test]
fn the_members_stand_in_the_order_of_the_contract() {
    let code = Code::MalformedJson;
    let evidence = EvidenceLine {
        partition: 1,
        offset: 41,
        code,
        transaction_id: None,
        revision: None,
        raw_key: None,
        raw_value: Some("AP8="),
        epoch: 3,
    };
    let text = r#"{"partition":1,"offset":41,"code":"MALFORMED_JSON","transaction_id":null,"revision":null,"raw_key":null,"raw_value":"AP8=","epoch":3}"#;
    assert_eq!(line(&evidence), text);
    let quarantine = QuarantineLine {
        partition: 1,
        offset: 41,
        code: Code::Routing,
        transaction_id: Some("T-1"),
        revision: Some(2),
        raw_key: Some(""),
        raw_value: None,
        reason: Code::Routing.reason(),
    };
    let text = r#"{"partition":1,"offset":41,"code":"ROUTING","transaction_id":"T-1","revision":2,"raw_key":"","raw_value":null,"reason":"the record lies on another partition than the manifest maps its stock key to"}"#;
    assert_eq!(line(&quarantine), text);
    let position = PositionLine {
        item: "widget",
        location: "berlin",
        business_date: "0001-02-03".parse().unwrap(),
        version: 2,
        balance: -9_007_199_254_740_991,
        state: State::Negative,
    };
    let text = r#"{"item":"widget","location":"berlin","business_date":"0001-02-03","version":2,"balance":-9007199254740991,"state":"negative"}"#;
    assert_eq!(line(&position), text);
    let frontier = FrontierLine { partition: 0, next_offset: 0, epoch: 0 };
    assert_eq!(line(&frontier), r#"{"partition":0,"next_offset":0,"epoch":0}"#);
}

#[test]
fn only_what_must_be_escaped_is_escaped() {
    let envelope = OutboxEnvelope {
        stock_key: StockKey {
            item: "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}".to_owned(),
            location: "köln \u{2028}\u{2029} \u{85} <&> \u{fffd} 😀".to_owned(),
        },
        business_date: "2026-01-05".parse().unwrap(),
        version: 2,
        closing: Some(Closing { balance: 95, state: State::Ok }),
        cause: Cause {
            offset: Offset(41),
            transaction_id: "T-1001".to_owned(),
            revision: 2,
            code: Code::Corrected,
        },
    };
    let text = "{\"namespace\":\"source-demo-1\",\"item\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\u{7f}\",\
                \"location\":\"köln \u{2028}\u{2029} \u{85} <&> \u{fffd} 😀\",\"business_date\":\"2026-01-05\",\
                \"version\":2,\"kind\":\"upsert\",\"balance\":95,\"state\":\"ok\",\"cause\":{\"partition\":0,\
                \"offset\":41,\"transaction_id\":\"T-1001\",\"revision\":2,\"code\":\"CORRECTED\"}}";
    assert_eq!(envelope.json("source-demo-1", Partition(0)), text);
}

#[test]
fn each_code_is_its_word_and_quarantined_codes_have_a_reason() {
    for code in Code::ALL {
        assert_eq!(code.to_string().parse(), Ok(code));
    }
    assert!("malformed_json".parse::<Code>().is_err());
    let kept: Vec<_> = Code::ALL.into_iter().filter(|code| !code.is_quarantined()).collect();
    let expected =
        [Code::Stale, Code::Duplicate, Code::Applied, Code::Corrected, Code::Reinstated, Code::Cancelled];
    assert_eq!(kept, expected);
}
