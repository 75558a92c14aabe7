//! Knows how to ask librdkafka for a topic's UUID and effective configuration, which rdkafka does not wrap or wraps in
//! a client of its own. The only module with `unsafe` code: each call is librdkafka's documented C API on a live
//! client, and every object it hands out is owned by an [`Owned`], whose drop gives it back.

#![expect(unsafe_code, reason = "the audited calls of librdkafka's C API")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::client::Client;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka_sys as sys;
use sys::rd_kafka_admin_op_t as Op;

/// A topic as one metadata answer shows it.
pub(super) struct Topic {
    /// The UUID, most significant byte first; zero when the broker has none.
    pub(super) id: [u8; 16],
    /// For each partition, in order, whether it has a leader.
    pub(super) has_leader: Vec<bool>,
}

/// Why there is no answer.
pub(super) struct Trouble {
    pub(super) code: RDKafkaErrorCode,
    pub(super) text: String,
}

/// How often a wait looks after its client.
const SLICE: Duration = Duration::from_millis(20);

/// One object of librdkafka, given back when dropped.
struct Owned<T> {
    ptr: NonNull<T>,
    destroy: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes over what librdkafka gave out; `None` for a null pointer.
    ///
    /// # Safety
    /// `ptr` is null or owned by the caller, and `destroy` is its destructor.
    unsafe fn new(ptr: *mut T, destroy: unsafe extern "C" fn(*mut T)) -> Option<Self> {
        NonNull::new(ptr).map(|ptr| Self { ptr, destroy })
    }

    fn ptr(&self) -> *mut T {
        self.ptr.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: by `new` this is the object's destructor, and nobody else owns it.
        unsafe { (self.destroy)(self.ptr.as_ptr()) }
    }
}

type Event = Owned<sys::rd_kafka_event_t>;

/// Asks for the topic of this name; `None` when the broker knows none. `patience` is asked between slices of the wait
/// whether to go on; it also serves the client's own events.
pub(super) fn topic<C: ClientContext>(
    client: &Client<C>,
    name: &CStr,
    within: Duration,
    patience: impl FnMut() -> bool,
) -> Result<Option<Topic>, Trouble> {
    let mut names: [*const c_char; 1] = [name.as_ptr()];
    // SAFETY: the array and the string outlive the call, which copies both.
    let names = unsafe {
        let topics = sys::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), 1);
        Owned::new(topics, sys::rd_kafka_TopicCollection_destroy)
    }
    .ok_or_else(none_made)?;
    let event = ask(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, within, patience, |options, queue| {
        // SAFETY: client, collection, options and queue are alive; the request copies what it keeps of them.
        unsafe { sys::rd_kafka_DescribeTopics(client.native_ptr(), names.ptr(), options, queue) }
    })?;
    let mut count = 0;
    // SAFETY: the event is alive until this function returns, and everything read here belongs to it.
    unsafe {
        let result = sys::rd_kafka_event_DescribeTopics_result(event.ptr());
        if result.is_null() {
            return Err(no_answer());
        }
        let topics = sys::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        let Some(&topic) = list(topics, count).first() else { return Err(no_answer()) };
        let error = sys::rd_kafka_TopicDescription_error(topic);
        if !error.is_null() {
            let code = RDKafkaErrorCode::from(sys::rd_kafka_error_code(error));
            if code == RDKafkaErrorCode::UnknownTopicOrPartition {
                return Ok(None);
            }
            if code != RDKafkaErrorCode::NoError {
                return Err(Trouble { code, text: text(sys::rd_kafka_error_string(error)) });
            }
        }
        let uuid = sys::rd_kafka_TopicDescription_topic_id(topic);
        let mut id = [0; 16];
        if !uuid.is_null() {
            id[..8].copy_from_slice(&sys::rd_kafka_Uuid_most_significant_bits(uuid).to_be_bytes());
            id[8..].copy_from_slice(&sys::rd_kafka_Uuid_least_significant_bits(uuid).to_be_bytes());
        }
        let partitions = sys::rd_kafka_TopicDescription_partitions(topic, &raw mut count);
        let mut leaders = BTreeMap::new();
        for &partition in list(partitions, count) {
            let leader = sys::rd_kafka_TopicPartitionInfo_leader(partition);
            let has_leader = !leader.is_null() && sys::rd_kafka_Node_id(leader) >= 0;
            leaders.insert(sys::rd_kafka_TopicPartitionInfo_partition(partition), has_leader);
        }
        Ok(Some(Topic { id, has_leader: leaders.into_values().collect() }))
    }
}

/// Asks for the topic's effective configuration: those of `wanted` that the broker has, by name.
pub(super) fn configuration<C: ClientContext>(
    client: &Client<C>,
    name: &CStr,
    wanted: &[&str],
    within: Duration,
    patience: impl FnMut() -> bool,
) -> Result<BTreeMap<String, String>, Trouble> {
    // SAFETY: the name outlives the call, which copies it.
    let resource = unsafe {
        let kind = sys::rd_kafka_ResourceType_t::RD_KAFKA_RESOURCE_TOPIC;
        Owned::new(
            sys::rd_kafka_ConfigResource_new(kind, name.as_ptr()),
            sys::rd_kafka_ConfigResource_destroy,
        )
    }
    .ok_or_else(none_made)?;
    let mut resources = [resource.ptr()];
    let event = ask(client, Op::RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, within, patience, |options, queue| {
        // SAFETY: client, resource, options and queue are alive; the request copies what it keeps of them.
        unsafe {
            sys::rd_kafka_DescribeConfigs(client.native_ptr(), resources.as_mut_ptr(), 1, options, queue);
        }
    })?;
    let mut count = 0;
    // SAFETY: the event is alive until this function returns, and everything read here belongs to it.
    unsafe {
        let result = sys::rd_kafka_event_DescribeConfigs_result(event.ptr());
        if result.is_null() {
            return Err(no_answer());
        }
        let resources = sys::rd_kafka_DescribeConfigs_result_resources(result, &raw mut count);
        let Some(&resource) = list(resources, count).first() else { return Err(no_answer()) };
        let code = RDKafkaErrorCode::from(sys::rd_kafka_ConfigResource_error(resource));
        if code != RDKafkaErrorCode::NoError {
            return Err(Trouble { code, text: text(sys::rd_kafka_ConfigResource_error_string(resource)) });
        }
        let entries = sys::rd_kafka_ConfigResource_configs(resource, &raw mut count);
        let entries = list(entries, count).iter().map(|&entry| {
            (text(sys::rd_kafka_ConfigEntry_name(entry)), text(sys::rd_kafka_ConfigEntry_value(entry)))
        });
        Ok(entries.filter(|(name, _)| wanted.contains(&name.as_str())).collect())
    }
}

/// Sends one admin request to a queue of its own and waits for its answer. A request that is given up is forgotten by
/// librdkafka when the queue goes.
fn ask<C: ClientContext>(
    client: &Client<C>,
    op: Op,
    within: Duration,
    mut patience: impl FnMut() -> bool,
    send: impl FnOnce(*const sys::rd_kafka_AdminOptions_t, *mut sys::rd_kafka_queue_t),
) -> Result<Event, Trouble> {
    // SAFETY: the client is alive, and so are options and queue until their owners go at this function's end.
    let (options, queue) = unsafe {
        let options = sys::rd_kafka_AdminOptions_new(client.native_ptr(), op);
        let queue = sys::rd_kafka_queue_new(client.native_ptr());
        (
            Owned::new(options, sys::rd_kafka_AdminOptions_destroy),
            Owned::new(queue, sys::rd_kafka_queue_destroy),
        )
    };
    let (options, queue) = (options.ok_or_else(none_made)?, queue.ok_or_else(none_made)?);
    let mut why: [c_char; 256] = [0; 256];
    let ms = c_int::try_from(within.as_millis()).unwrap_or(c_int::MAX).max(1);
    // SAFETY: the options are alive, and the buffer has the length given.
    let code = RDKafkaErrorCode::from(unsafe {
        sys::rd_kafka_AdminOptions_set_request_timeout(options.ptr(), ms, why.as_mut_ptr(), why.len())
    });
    if code != RDKafkaErrorCode::NoError {
        // SAFETY: librdkafka ends what it writes into the buffer with a NUL.
        return Err(Trouble { code, text: unsafe { text(why.as_ptr()) } });
    }
    send(options.ptr(), queue.ptr());
    let deadline = Instant::now() + within;
    loop {
        // SAFETY: the queue is alive; an event that it gives out is ours.
        let event = unsafe {
            let slice = c_int::try_from(SLICE.as_millis()).unwrap_or(c_int::MAX);
            Owned::new(sys::rd_kafka_queue_poll(queue.ptr(), slice), sys::rd_kafka_event_destroy)
        };
        let go_on = patience();
        if let Some(event) = event {
            // SAFETY: the event is alive, and its text belongs to it.
            let (code, text) = unsafe {
                let code = RDKafkaErrorCode::from(sys::rd_kafka_event_error(event.ptr()));
                (code, text(sys::rd_kafka_event_error_string(event.ptr())))
            };
            if code == RDKafkaErrorCode::NoError {
                return Ok(event);
            }
            return Err(Trouble { code, text });
        }
        if !go_on || Instant::now() >= deadline {
            return Err(Trouble { code: RDKafkaErrorCode::OperationTimedOut, text: "no answer".to_owned() });
        }
    }
}

/// The elements of a list that librdkafka gave out as pointer and count.
///
/// # Safety
/// `first` is null or points at `count` elements that outlive the result.
unsafe fn list<'a, T>(first: *mut *const T, count: usize) -> &'a [*const T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(first.cast_const(), count) }
}

/// A copy of one of librdkafka's strings; empty for a null pointer.
///
/// # Safety
/// `text` is null or a string that ends with NUL.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: promised by the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The name as C wants it.
pub(super) fn c_name(name: &str) -> Result<CString, Trouble> {
    CString::new(name).map_err(|_nul| Trouble {
        code: RDKafkaErrorCode::InvalidTopic,
        text: "a topic's name holds no NUL".to_owned(),
    })
}

fn none_made() -> Trouble {
    Trouble { code: RDKafkaErrorCode::CriticalSystemResource, text: "librdkafka made no request".to_owned() }
}

fn no_answer() -> Trouble {
    Trouble { code: RDKafkaErrorCode::Fail, text: "librdkafka gave an answer without a result".to_owned() }
}
