-- What the ledger decided. Rows are written under the lock of their partition's row only; a foreign key to it would
-- ask for that lock once more for each row.

CREATE TABLE amends.evidence (
    namespace      text COLLATE "C" NOT NULL,
    partition      integer NOT NULL,
    source_offset  bigint NOT NULL,
    code           text NOT NULL,
    transaction_id text COLLATE "C",
    revision       bigint,
    raw_key        bytea,
    raw_value      bytea,
    epoch          bigint NOT NULL,
    PRIMARY KEY (namespace, partition, source_offset)
);

-- What a transaction of a partition currently is: live with a date and a quantity, or cancelled with neither.
CREATE TABLE amends.head (
    namespace      text COLLATE "C" NOT NULL,
    partition      integer NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    revision       bigint NOT NULL,
    item           text COLLATE "C" NOT NULL,
    location       text COLLATE "C" NOT NULL,
    business_date  date,
    quantity       bigint,
    PRIMARY KEY (namespace, partition, transaction_id),
    CHECK ((business_date IS NULL) = (quantity IS NULL))
);

-- Never deleted: a version never restarts. Without a balance it is retracted.
CREATE TABLE amends.position (
    namespace     text COLLATE "C" NOT NULL,
    item          text COLLATE "C" NOT NULL,
    location      text COLLATE "C" NOT NULL,
    business_date date NOT NULL,
    version       bigint NOT NULL CHECK (version > 0),
    live          bigint NOT NULL CHECK (live >= 0),
    balance       bigint,
    state         text CHECK (state IN ('negative', 'low', 'ok')),
    PRIMARY KEY (namespace, item, location, business_date),
    CHECK ((live = 0) = (balance IS NULL)),
    CHECK ((balance IS NULL) = (state IS NULL))
) WITH (fillfactor = 70);

-- A correction reads the present rows behind its day and the last one before it, whatever was retracted in between.
-- By `live` and not by `balance`, so that a row whose balance alone moves needs no new index entry.
CREATE INDEX position_present ON amends.position (namespace, item, location, business_date) WHERE live > 0;

-- In the order of its readers. Without a balance it is a retraction.
CREATE TABLE amends.outbox (
    namespace      text COLLATE "C" NOT NULL,
    partition      integer NOT NULL,
    cause_offset   bigint NOT NULL,
    business_date  date NOT NULL,
    item           text COLLATE "C" NOT NULL,
    location       text COLLATE "C" NOT NULL,
    version        bigint NOT NULL,
    balance        bigint,
    state          text,
    transaction_id text COLLATE "C" NOT NULL,
    revision       bigint NOT NULL,
    code           text NOT NULL,
    PRIMARY KEY (namespace, partition, cause_offset, business_date),
    CHECK ((balance IS NULL) = (state IS NULL))
);
