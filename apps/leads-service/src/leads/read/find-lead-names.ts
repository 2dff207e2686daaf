import type { LeadName } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { isId, isUuid, validate } from '../../arguments'
import type { Operation } from '../../operation'

const MAX_REFERENCES = 100

const selectNames = statement<LeadName>('lead-names')`
  SELECT reference, name FROM leads
  WHERE account_id = $1 AND reference = ANY ($2::uuid[]) AND erased_at IS NULL`

/** What leads are called now; erased ones have no name. Throws invalid. */
export const findLeadNames: Operation<'findLeadNames'> = async ({ database }, { accountId, references }) => {
  validate({
    account_id: isId(accountId),
    references: references.length <= MAX_REFERENCES && references.every(isUuid),
  })
  return { leads: await selectNames(database, accountId, references) }
}
