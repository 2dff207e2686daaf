// reconciled_leads: up to which number an account's leads are explained, or kept as unexplained. Without foreign keys, so that making
// a row locks nothing. unexplained: key is the kind and what it is about, checked_at when it was last found so. reconciliation has one
// row: due_at is when a copy starts a check, and while one works on it, until when the others leave it.
export const reconciliation = `
  CREATE TABLE reconciled_leads (
    account_id bigint PRIMARY KEY,
    number bigint NOT NULL
  );

  CREATE TABLE unexplained (
    key text PRIMARY KEY,
    kind text NOT NULL,
    account_id bigint NOT NULL,
    lead_number bigint,
    lead_reference uuid,
    event_id uuid,
    delivery_id bigint,
    since timestamptz NOT NULL,
    detail text NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX unexplained_of_account ON unexplained (account_id, since);
  CREATE INDEX unexplained_since ON unexplained (since);
  CREATE INDEX unexplained_to_check ON unexplained (checked_at);

  CREATE TABLE reconciliation (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz
  );
  INSERT INTO reconciliation DEFAULT VALUES;`
