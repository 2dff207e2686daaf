import { AUDIT_TABLE, type Migration } from '@leadwire/service-kit'

// Webhooks and notifications have the same tables, in the schemas `public` and `notifications`, because both
// use the same statements. A migration that changes such a table must change it in both schemas.

const ENDPOINTS = `
  CREATE TABLE endpoints (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id bigint NOT NULL,
    url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
    description text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A deleted endpoint keeps its row, because its deliveries refer to the row.
    deleted_at timestamptz,

    enabled boolean NOT NULL,
    disabled_reason text,
    disabled_by_suspension boolean NOT NULL DEFAULT false,

    -- The event types to which the endpoint subscribes. No constraint checks them, so a new type needs no
    -- migration.
    events text[] NOT NULL DEFAULT '{lead.created}',
    leads text NOT NULL DEFAULT 'all',
    -- Selects the leads whose events the endpoint gets. NULL selects every lead.
    filter jsonb,
    -- Optional parts of bodies that the endpoint asks for.
    include text[] NOT NULL DEFAULT '{}',

    -- The encrypted secret, the replaced secrets that still sign, and the values of the endpoint's own
    -- headers. secrets_end_at is when the first of the replaced secrets ends.
    sealed_secrets bytea,
    secrets_end_at timestamptz,
    header_names text[] NOT NULL DEFAULT '{}',

    CONSTRAINT endpoints_description_fits CHECK (char_length(description) <= 255),
    CONSTRAINT endpoints_leads_are_known CHECK (leads IN ('all', 'live', 'test')),
    CONSTRAINT endpoints_headers_fit CHECK (cardinality(header_names) <= 10)
  );
  CREATE INDEX endpoints_of_account ON endpoints (account_id, id) WHERE deleted_at IS NULL;
  CREATE INDEX endpoints_ever_of_account ON endpoints (account_id, id);
  CREATE INDEX endpoints_ending_secrets ON endpoints (secrets_end_at) WHERE secrets_end_at IS NOT NULL;
  CREATE INDEX endpoints_deleted ON endpoints (deleted_at) WHERE deleted_at IS NOT NULL;

  -- Endpoints that were disabled, enabled or deleted, and whose open deliveries do not have the matching
  -- status yet. This is a separate table, because the append step locks the rows of endpoints, and must not
  -- wait while a batch of deliveries is updated.
  CREATE TABLE endpoint_syncs (
    endpoint_id bigint PRIMARY KEY,
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX endpoint_syncs_in_order ON endpoint_syncs (queued_at);`

const EVENTS = `
  CREATE TABLE events (
    id uuid PRIMARY KEY,
    account_id bigint NOT NULL,
    account_key text NOT NULL,
    type text NOT NULL DEFAULT 'lead.created',
    -- The position in the account's log: 1, 2, 3 and so on, in the order of storing. NULL if the event is not
    -- in the log.
    number bigint,
    -- NULL for events about endpoints, and for e-mails that are not about a single lead.
    lead_reference uuid,
    lead_version integer,
    test boolean NOT NULL DEFAULT false,
    -- Whether the event is a sample (a test send), which belongs to no lead.
    sample boolean NOT NULL DEFAULT false,
    body bytea NOT NULL,
    -- The body with attributes, if the lead has any.
    body_with_attributes bytea,
    -- The values of the lead that filters compare. With NULL, the event passes every filter.
    match jsonb,
    traceparent text,
    stream_sequence bigint,
    -- How many deliveries were created. NULL before the fan-out. Events that do not fan out keep NULL:
    -- tombstones (erased events that never arrived), and events that are stored together with their
    -- deliveries, such as samples (test sends) and reports.
    fan_out integer,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- If set, pruning uses this time instead of created_at.
    kept_at timestamptz,
    erased_at timestamptz
  ) WITH (
    -- Vacuums early. Pruning removes the oldest entries of an index, and then reads past the dead entries
    -- until they are vacuumed.
    autovacuum_vacuum_scale_factor = 0.02
  );
  CREATE INDEX events_of_lead ON events (lead_reference);
  CREATE INDEX events_by_age ON events ((coalesce(kept_at, created_at)));
  CREATE UNIQUE INDEX events_by_number ON events (account_id, number) WHERE number IS NOT NULL;

  -- Invalid events. The outbox stops publishing these events.
  CREATE TABLE dead_letters (
    event_id uuid PRIMARY KEY,
    stream_sequence bigint NOT NULL,
    reason text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX dead_letters_by_age ON dead_letters (recorded_at);

  -- Stored events whose deliveries have not been created yet, in the order of each account's log.
  CREATE TABLE fan_out_queue (
    event_id uuid PRIMARY KEY,
    id bigint GENERATED ALWAYS AS IDENTITY,
    account_id bigint NOT NULL,
    -- The newest endpoint of the account when the event was stored. Only endpoints with ids up to this id
    -- receive the event.
    newest_endpoint_id bigint NOT NULL,
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp()
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX fan_out_queue_of_account ON fan_out_queue (account_id, id);
  CREATE INDEX fan_out_queue_by_age ON fan_out_queue (queued_at);`

const DELIVERIES = `
  -- Has no foreign keys, because checking the two keys took a fifth of the time that PostgreSQL needs to
  -- store an event. Instead, the transaction that creates a delivery locks its endpoint and its event, and an
  -- event is removed only after its deliveries.
  CREATE TABLE deliveries (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id bigint NOT NULL,
    event_id uuid NOT NULL,
    endpoint_id bigint NOT NULL,
    lead_reference uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Whether each attempt sends the body with attributes. The value stays when the endpoint changes, so that
    -- all retries send the same body.
    with_attributes boolean NOT NULL DEFAULT false,

    status text NOT NULL CHECK (status IN ('pending', 'delivered', 'exhausted', 'held', 'cancelled')),
    attempt_count integer NOT NULL DEFAULT 0 CHECK (attempt_count >= 0),
    next_attempt_at timestamptz,
    -- When a manual attempt is due. A manual attempt leaves the schedule as it is.
    manual_at timestamptz,
    manual_attempts integer NOT NULL DEFAULT 0 CHECK (manual_attempts >= 0),
    -- The end and the number of the current claim. Until this end, only one process may make the attempt. The
    -- result of an attempt with another claim number is ignored.
    claimed_until timestamptz,
    claim integer,

    CONSTRAINT one_delivery_per_endpoint UNIQUE (event_id, endpoint_id),
    CONSTRAINT scheduled_while_open CHECK ((status IN ('pending', 'held')) = (next_attempt_at IS NOT NULL)),
    CONSTRAINT ended_by_an_attempt CHECK (status NOT IN ('delivered', 'exhausted') OR attempt_count > 0),
    CONSTRAINT claimed_until_a_time CHECK ((claim IS NULL) = (claimed_until IS NULL))
  ) WITH (
    -- Leaves room in each page for the next version of a claimed row. No index contains a column that a claim
    -- changes, so a claim updates no index.
    fillfactor = 60,
    -- Dead rows slow the next claim down, so they are vacuumed early.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0
  );
  -- Deduplication is off for the first two indexes. With deduplication, deliveries that are due at the same
  -- time share an index entry, and PostgreSQL marks an entry as dead only when all its rows are dead. Until
  -- then, each claim also reads deliveries that are already delivered, and takes 62 us for each delivery
  -- instead of 44 us.
  CREATE INDEX deliveries_open ON deliveries (status, endpoint_id, next_attempt_at)
    WITH (deduplicate_items = off) WHERE next_attempt_at IS NOT NULL;
  CREATE INDEX deliveries_soon ON deliveries (next_attempt_at)
    WITH (deduplicate_items = off) WHERE status = 'pending' AND next_attempt_at IS NOT NULL;
  CREATE INDEX deliveries_manual ON deliveries (endpoint_id, manual_at) WHERE manual_at IS NOT NULL;
  CREATE INDEX deliveries_of_account ON deliveries (account_id, id);
  CREATE INDEX deliveries_by_status ON deliveries (endpoint_id, status, id);

  -- Has no foreign key, because one transaction writes an attempt and updates its delivery, or removes both.
  CREATE TABLE attempts (
    delivery_id bigint NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    started_at timestamptz NOT NULL,
    duration_ms integer NOT NULL CHECK (duration_ms >= 0),
    status integer,
    error text,
    -- Why the attempt failed, in a sentence.
    reason text,
    response text,
    PRIMARY KEY (delivery_id, number),
    CONSTRAINT succeeded_by_a_2xx CHECK (
      error IS NOT NULL OR (status IS NOT NULL AND status BETWEEN 200 AND 299)
    )
  );`

const REPORTS = `
  -- Recorded attempts that may change what is reported about their endpoint.
  CREATE TABLE unreviewed_attempts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint_id bigint NOT NULL,
    delivery_id bigint NOT NULL,
    number integer NOT NULL,
    started_at timestamptz NOT NULL,
    error text,
    is_exhausted boolean NOT NULL,
    is_logged boolean NOT NULL
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX unreviewed_attempts_of_endpoint ON unreviewed_attempts (endpoint_id);

  -- A ring of 24 hours, so that nothing has to be removed: each hour replaces the same hour of the day
  -- before.
  CREATE TABLE endpoint_hours (
    endpoint_id bigint NOT NULL REFERENCES endpoints,
    hour_of_day smallint NOT NULL CHECK (hour_of_day BETWEEN 0 AND 23),
    hour timestamptz NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    -- Keeps its value when a later hour replaces the other columns.
    last_success_at timestamptz,
    PRIMARY KEY (endpoint_id, hour_of_day)
  ) WITH (fillfactor = 50);

  -- An endpoint has a row from its first failure to its next success. Attempts in between do not write the
  -- row, so attempts do not contend for it.
  CREATE TABLE endpoint_failures (
    endpoint_id bigint PRIMARY KEY,
    since timestamptz NOT NULL,
    notified_at timestamptz
  );
  CREATE INDEX endpoint_failures_since ON endpoint_failures (since);
  CREATE INDEX endpoint_failures_unnotified ON endpoint_failures (endpoint_id) WHERE notified_at IS NULL;

  -- Reports about endpoints, which are sent as events to other endpoints. Such an event has no lead.
  CREATE TABLE endpoint_reports (
    endpoint_id bigint NOT NULL,
    type text NOT NULL,
    -- Only the type endpoint.failing uses the next two columns. open: the endpoint is failing now. sent: the
    -- last report said that the endpoint is failing.
    open boolean NOT NULL DEFAULT false,
    sent boolean NOT NULL DEFAULT false,
    -- How often the event has happened since the last report.
    count integer NOT NULL DEFAULT 0,
    since timestamptz NOT NULL,
    at timestamptz NOT NULL,
    delivery_id bigint,
    -- NULL: there is nothing to send.
    due_at timestamptz,
    sent_at timestamptz,
    -- When endpoint.recovered was sent.
    recovery_sent_at timestamptz,
    PRIMARY KEY (endpoint_id, type)
  ) WITH (fillfactor = 50);
  CREATE INDEX endpoint_reports_due ON endpoint_reports (due_at) WHERE due_at IS NOT NULL;`

const REPLAYS = `
  -- Replays and recoveries of an endpoint. Notifications have none.
  CREATE TABLE replays (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    state text NOT NULL DEFAULT 'running',
    -- An endpoint may have several recoveries, which run one after the other.
    recovers boolean NOT NULL DEFAULT false,
    dry_run boolean NOT NULL DEFAULT false,
    -- Deliveries that changed after this time are skipped.
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    next_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,

    -- The statuses of deliveries. missing stands for events without a delivery.
    statuses text[] NOT NULL,
    -- NULL: the types that the endpoint subscribes to.
    types text[],
    since timestamptz NOT NULL DEFAULT '-infinity',
    before timestamptz NOT NULL DEFAULT 'infinity',
    until_number bigint NOT NULL,

    -- Events up to counted_to have been counted, and events up to replayed_to have been replayed.
    counted_to bigint NOT NULL,
    replayed_to bigint NOT NULL,
    matched bigint NOT NULL DEFAULT 0,
    matched_capped boolean NOT NULL DEFAULT false,
    enqueued bigint NOT NULL DEFAULT 0,

    CONSTRAINT replays_statuses_are_known
      CHECK (statuses <@ ARRAY['exhausted', 'held', 'pending', 'missing', 'delivered'])
  );
  CREATE UNIQUE INDEX one_replay_per_endpoint ON replays (endpoint_id)
    WHERE state = 'running' AND NOT recovers;
  CREATE INDEX replays_of_endpoint ON replays (endpoint_id, state, id);
  CREATE INDEX replays_in_order ON replays (next_at) WHERE state = 'running';
  CREATE INDEX replays_by_age ON replays (ended_at) WHERE ended_at IS NOT NULL;`

const WEBHOOKS = [ENDPOINTS, EVENTS, DELIVERIES, REPORTS, REPLAYS]

/** Tables that both schemas share. */
const SHARED = `
  -- The highest number of an account's events. Each batch updates the row, so the page has room for the next
  -- version of the row.
  CREATE TABLE event_counters (account_id bigint PRIMARY KEY, last bigint NOT NULL) WITH (fillfactor = 50);

  -- Messages in the stream that events.stream_sequence does not record: repeated messages of an event, and
  -- messages that were refused. An erasure deletes these messages from the stream, too.
  CREATE TABLE event_messages (
    event_id uuid NOT NULL,
    stream_sequence bigint NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (event_id, stream_sequence)
  );
  CREATE INDEX event_messages_by_age ON event_messages (received_at);

  -- The suspended accounts.
  CREATE TABLE held_accounts (account_id bigint PRIMARY KEY);

  -- The saved responses. A repeated request with the same key gets the saved response, as in leads-service.
  CREATE TABLE idempotency_keys (
    token_id bigint NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    -- The encrypted response.
    body bytea NOT NULL,
    -- Always NULL, because the responses of this service show no lead.
    lead_reference uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (token_id, key),
    -- A longer key does not fit into the index.
    CONSTRAINT idempotency_keys_key_fits CHECK (char_length(key) <= 512)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);`

/** Changes the tables for notifications. */
const NOTIFICATIONS = `
  ALTER TABLE endpoints ALTER events SET DEFAULT '{notification.requested}';
  ALTER TABLE events ALTER type SET DEFAULT 'notification.requested';

  -- Counts the messages to each user in an hour. A digest lists the messages beyond the limit. digest_id is
  -- the id of the event of this digest.
  CREATE TABLE message_counts (
    account_id bigint NOT NULL,
    user_id bigint NOT NULL,
    hour timestamptz NOT NULL,
    messages integer NOT NULL,
    digest_id uuid,
    PRIMARY KEY (account_id, user_id)
  );
  ALTER TABLE deliveries
    -- Whether the message has been counted. Its scheduled attempts count only once.
    ADD COLUMN counted boolean NOT NULL DEFAULT false,
    ADD COLUMN digest_id uuid;
  CREATE INDEX deliveries_of_digest ON deliveries (digest_id) WHERE digest_id IS NOT NULL;`

const STATEMENTS = [
  ...WEBHOOKS,
  SHARED,
  AUDIT_TABLE,
  'CREATE SCHEMA notifications; SET LOCAL search_path TO notifications;',
  ...WEBHOOKS,
  NOTIFICATIONS,
  'SET LOCAL search_path TO DEFAULT;',
]

/** All tables of the database `webhooks`. */
export const schema: Migration = {
  // Development versions had other first steps. `migrate` refuses a database that has recorded some steps,
  // but not this one.
  name: '0001-webhooks',
  up: async (knex) => void (await knex.raw(STATEMENTS.join('\n'))),
}
