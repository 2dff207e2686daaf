import type { FindLeadNamesRequest, LeadName } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, isUuid, validate } from '../../arguments'

const MAX_REFERENCES = 100

const SELECT_NAMES = `
  SELECT reference, name FROM leads
  WHERE account_id = $1 AND reference = ANY ($2::uuid[]) AND erased_at IS NULL`

/** What leads are called now; erased ones have no name. Throws invalid. */
export const findLeadNames =
  ({ database }: { database: Database }) =>
  async ({ accountId, references }: FindLeadNamesRequest) => {
    validate({
      account_id: isId(accountId),
      references: references.length <= MAX_REFERENCES && references.every(isUuid),
    })
    const values = [accountId, references]
    return { leads: await database.query<LeadName>({ name: 'lead-names', text: SELECT_NAMES, values }) }
  }
