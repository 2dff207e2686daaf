/**
 * The table of a service's audit log, for its migrations. Ids are unique in all services, which share one order.
 */
export const AUDIT_TABLE = `
  CREATE TABLE audit (
    account_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    action text NOT NULL,
    target_type text NOT NULL,
    target_id bigint NOT NULL,
    token_id bigint,
    token_name text,
    request_id text,
    changes json NOT NULL CHECK (json_typeof(changes) = 'object'),
    PRIMARY KEY (account_id, created_at, id)
  );`
