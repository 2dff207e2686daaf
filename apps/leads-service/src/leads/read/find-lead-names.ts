import type { LeadName } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import type { Operation } from '../../operation'

const selectNames = statement<LeadName>('lead-names')`
  SELECT reference, name FROM leads
  WHERE account_id = $1 AND reference = ANY ($2::uuid[]) AND erased_at IS NULL`

/** Finds the current names of leads. Leaves out erased leads. */
export const findLeadNames: Operation<'findLeadNames'> = async ({ database }, { accountId, references }) => ({
  leads: await selectNames(database, accountId, references),
})
