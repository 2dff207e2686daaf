// reconciled_leads: up to which number an account's leads are explained, or kept as unexplained. Without foreign keys, so that making
// a row locks nothing. unexplained: key is the kind and what it is about, checked_at when it was last found so. reconciliation has one
// row, of the last check of all accounts that ended; while a copy checks in turn, the others leave it until claimed_until.
export const reconciliation = `
  CREATE TABLE reconciled_leads (
    account_id bigint PRIMARY KEY,
    number bigint NOT NULL
  );

  CREATE TABLE unexplained (
    key text PRIMARY KEY,
    account_id bigint NOT NULL,
    since timestamptz NOT NULL,
    finding json NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX unexplained_of_account ON unexplained (account_id, since);
  CREATE INDEX unexplained_since ON unexplained (since);
  CREATE INDEX unexplained_to_check ON unexplained (checked_at);

  CREATE TABLE reconciliation (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    claimed_until timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz
  );
  INSERT INTO reconciliation DEFAULT VALUES;`
