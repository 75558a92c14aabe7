//! What one event costs the reducer in the steady state of one partition.
#![expect(missing_docs, reason = "criterion's macros make public items")]

use amends_core::lifecycle::event::Event;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use steady::{Steady, TENURE, batches};

mod steady;

/// Batches between two fresh workers.
const CYCLES: u32 = 1_000;

fn reducer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reducer");
    for records in [1, 500] {
        let given = batches(CYCLES.into(), records);
        group.throughput(Throughput::Elements(3 * u64::from(CYCLES)));
        group.bench_function(format!("polled, checked, committed/{records}"), |bencher| {
            bencher.iter_batched_ref(
                Steady::new,
                |steady| {
                    for offsets in &given {
                        steady.decide(offsets);
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
    let first = batches(1, 1).swap_remove(0);
    group.throughput(Throughput::Elements(CYCLES.into()));
    group.bench_function("poll-empty", |bencher| {
        bencher.iter_batched_ref(
            Steady::new,
            |steady| {
                steady.decide(&first);
                for _ in 0..CYCLES {
                    steady.step(&Event::PollEmpty { tenure: TENURE });
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, reducer);
criterion_main!(benches);
