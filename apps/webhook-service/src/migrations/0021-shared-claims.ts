import type { Migration } from '@leadwire/service-kit'

// In 0.2.0 a delivery is claimed while claimed_by names a worker, in later releases until claimed_until. The trigger says each
// claim the other way too. A claim of 0.2.0 has no end of its own: 15 minutes are longer than any attempt, and only count when its
// worker dies and no copy of 0.2.0 is left to take it back. 0 is no worker that 0.2.0 knows, so it leaves such claims alone. A
// claim that was made before the trigger is as good as one that is made now.
const UP = `
  ALTER TABLE deliveries ADD COLUMN claimed_until timestamptz, DROP CONSTRAINT claimed_while_unfinished;
  CREATE FUNCTION share_claim() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.claimed_by IS DISTINCT FROM OLD.claimed_by OR (OLD.claimed_by IS NOT NULL AND OLD.claimed_until IS NULL) THEN
      NEW.claimed_until := CASE WHEN NEW.claimed_by IS NOT NULL THEN clock_timestamp() + interval '15 minutes' END;
    ELSIF NEW.claimed_until IS DISTINCT FROM OLD.claimed_until THEN
      NEW.claimed_by := CASE WHEN NEW.claimed_until IS NOT NULL THEN 0 END;
    END IF;
    NEW.claim := coalesce(NEW.claim, 0);
    RETURN NEW;
  END $$;
  CREATE TRIGGER share_claim BEFORE INSERT OR UPDATE OF claimed_by, claimed_until ON deliveries
    FOR EACH ROW EXECUTE FUNCTION share_claim();`

/** Copies of 0.2.0 and of this release leave each other's claims alone. Only in a database that 0.2.0 made. */
export const sharedClaims: Migration = {
  name: '021-shared-claims',
  up: async (knex) => {
    const { rows } = await knex.raw(`SELECT to_regclass('public.workers') IS NOT NULL AS "isOf020"`)
    if (rows[0].isOf020) await knex.raw(UP)
  },
}
