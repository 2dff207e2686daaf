import type { Migration } from '@leadwire/service-kit'

const TABLE = `
CREATE TABLE IF NOT EXISTS endpoint_reports (
  endpoint_id bigint NOT NULL,
  type text NOT NULL,
  -- Of endpoint.failing: whether it fails now, and whether the subscribers were sent so last.
  open boolean NOT NULL DEFAULT false,
  sent boolean NOT NULL DEFAULT false,
  -- How often it happened since it was sent.
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
CREATE INDEX IF NOT EXISTS endpoint_reports_due ON endpoint_reports (due_at) WHERE due_at IS NOT NULL;
`

/** What there is to report about endpoints to other endpoints. Such an event has no lead. */
export const endpointReports: Migration = {
  name: '005-endpoint-reports',
  transaction: false,
  up: async (knex) => {
    // The statement that records attempts names the table in both schemas.
    for (const schema of ['public', 'notifications'])
      await knex.transaction(
        async (tx) => void (await tx.raw(`SET LOCAL search_path TO ${schema}; ${TABLE}`)),
      )
    for (const table of ['events', 'deliveries'])
      await knex.transaction(async (tx) => {
        await tx.raw("SET LOCAL lock_timeout = '500ms'")
        await tx.raw(`ALTER TABLE public.${table} ALTER lead_reference DROP NOT NULL`)
      })
  },
}
