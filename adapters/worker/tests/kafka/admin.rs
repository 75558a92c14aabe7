//! Creating topics: what is certain and what is not.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use amends::kafka::{Creation, NewTopic, Settings, create};

use crate::support::{Topic, fresh_name, settings};

#[test]
fn a_topic_that_exists_is_left_alone() {
    let topic = Topic::new(1);
    let again = NewTopic { name: topic.name.clone(), partitions: 5, replication: 1, config: Vec::new() };
    assert_eq!(create(&settings(), &again, Duration::from_secs(10)), Ok(Creation::Exists));
}

#[test]
fn what_the_broker_refuses_is_certain() {
    let mut wanted = NewTopic { name: fresh_name(), partitions: 1, replication: 9, config: Vec::new() };
    let created = create(&settings(), &wanted, Duration::from_secs(10));
    assert!(matches!(created, Ok(Creation::Refused(_))), "{created:?}");
    wanted.replication = 1;
    wanted.config = vec![("retention.ms".to_owned(), "soon".to_owned())];
    let created = create(&settings(), &wanted, Duration::from_secs(10));
    assert!(matches!(created, Ok(Creation::Refused(_))), "{created:?}");
}

#[test]
fn without_an_answer_nothing_is_certain() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address").to_string();
    let nowhere = Settings::new(&address, []).expect("settings");
    let wanted = NewTopic { name: fresh_name(), partitions: 1, replication: 1, config: Vec::new() };
    let begun = Instant::now();
    match create(&nowhere, &wanted, Duration::from_secs(2)) {
        Ok(Creation::Unknown(why)) => assert!(why.contains(&address), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}
