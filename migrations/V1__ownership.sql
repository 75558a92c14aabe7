-- Who may move a partition, and how far it is.

CREATE TABLE amends.namespace (
    name         text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    -- Drawn here, so that two databases never share a consumer group.
    uuid         uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    sink         text NOT NULL,
    source_topic text NOT NULL,
    incarnation  text NOT NULL,
    -- The canonical text that the digest is of; jsonb would not give it back.
    config       text NOT NULL,
    digest       bytea NOT NULL CHECK (octet_length(digest) = 32),
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- The row is there before the first claim: a lock that finds no row waits for nothing.
CREATE TABLE amends.partition (
    namespace       text COLLATE "C" NOT NULL REFERENCES amends.namespace,
    partition       integer NOT NULL CHECK (partition >= 0),
    -- The token of the last claim. The claim id guards against a failover that forgets a claim.
    epoch           bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    claim_id        uuid,
    -- The frontier: everything below it is decided. No other table holds a position.
    next_offset     bigint CHECK (next_offset >= 0),
    owner           text,
    claimed_at      timestamptz,
    -- The last decision: neither cumulative nor a log.
    work_records    bigint,
    work_bytes      bigint,
    work_elapsed_us bigint,
    committed_at    timestamptz,
    PRIMARY KEY (namespace, partition),
    CHECK ((epoch = 0) = (claim_id IS NULL)),
    CHECK ((epoch = 0) = (next_offset IS NULL))
) WITH (fillfactor = 50); -- room for each decision's new version on the same page

CREATE VIEW amends.consumer_checkpoint AS
SELECT 'amends-' || n.name || '-' || left(replace(n.uuid::text, '-', ''), 12) AS group_id,
       n.source_topic AS topic, p.partition, p.next_offset, p.epoch, p.owner,
       coalesce(p.committed_at, p.claimed_at) AS updated_at, n.name AS namespace
  FROM amends.partition p JOIN amends.namespace n ON n.name = p.namespace;
