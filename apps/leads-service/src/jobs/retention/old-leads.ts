import { isOpenEntry } from '../../scheduling/is-open-entry'

// OFFSET 0 makes PostgreSQL check each lead separately. Otherwise PostgreSQL could read all open entries.
const hasOpen = (table: string): string => `EXISTS (
    SELECT FROM ${table} t
    WHERE t.account_id = l.account_id AND t.lead_id = l.id AND ${isOpenEntry('t')}
    OFFSET 0
  )`

/** SQL: whether a lead `l` last changed before the period that leads are kept. $3 is the number of months. */
export const HAS_AGED = 'l.updated_at < now() - make_interval(months => $3::int)'

/** SQL: whether a lead `l` that has aged is to be erased. $2 are the statuses of the rule. */
export const IS_TO_BE_ERASED = `l.status = ANY ($2::text[]) AND l.erased_at IS NULL
  AND NOT ${hasOpen('appointments')} AND NOT ${hasOpen('callbacks')}`
