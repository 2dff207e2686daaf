import type { Migration } from '@leadwire/service-kit'

// The release before erases events without knowing `match`. A later release removes the trigger.
const EMPTY_MATCH = `
  CREATE OR REPLACE FUNCTION public.empty_match() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.match := NULL;
      RETURN NEW;
    END $$;
  CREATE OR REPLACE TRIGGER empty_match BEFORE UPDATE OF erased_at ON public.events
    FOR EACH ROW WHEN (NEW.erased_at IS NOT NULL) EXECUTE FUNCTION public.empty_match()`

const STEPS = [
  ...['public', 'notifications'].flatMap((schema) => [
    `ALTER TABLE ${schema}.endpoints ADD COLUMN IF NOT EXISTS filter jsonb`,
    `ALTER TABLE ${schema}.events ADD COLUMN IF NOT EXISTS match jsonb`,
  ]),
  EMPTY_MATCH,
]

/** Which leads' events an endpoint gets, and the values of an event's lead that are compared. */
export const endpointFilters: Migration = {
  name: '004-endpoint-filters',
  transaction: false,
  up: async (knex) => {
    for (const step of STEPS)
      await knex.transaction(async (tx) => {
        await tx.raw("SET LOCAL lock_timeout = '500ms'")
        await tx.raw(step)
      })
  },
}
