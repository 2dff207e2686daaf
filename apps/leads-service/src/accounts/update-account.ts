import {
  type Actor,
  isEmail,
  type UpdateAccountRequest,
  type UpdateAccountResponse,
} from '@leadwire/contracts'
import { type Database, differences, recordAudit } from '@leadwire/service-kit'
import { errorsOf, isId, refuse } from '../arguments'
import { ACCOUNT } from './account-row'
import { accountNotFound } from './retrieve-account'

// Creates of leads lock the row as well: each waits for the other, and neither for long.
const LOCK = `SELECT ${ACCOUNT.columns} FROM accounts WHERE id = $1 FOR NO KEY UPDATE`

const UPDATE = `
  UPDATE accounts SET contact_email = nullif(coalesce($2, contact_email), '') WHERE id = $1
  RETURNING ${ACCOUNT.columns}`

/** Changes what is given of an account. Throws not_found. */
export const updateAccount =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ accountId, contactEmail }: UpdateAccountRequest): Promise<UpdateAccountResponse> => {
    refuse({
      ...errorsOf({ account_id: isId(accountId) }),
      ...(contactEmail &&
        !isEmail(contactEmail) && { contact_email: ['The contact email must be a valid email address.'] }),
    })
    return deps.database.transaction(async (tx) => {
      const [before] = await ACCOUNT.query(tx, { text: LOCK, values: [accountId] })
      if (!before) throw accountNotFound()
      const [account] = await ACCOUNT.query(tx, { text: UPDATE, values: [accountId, contactEmail ?? null] })
      const changes = differences(
        { contact_email: before.contactEmail },
        { contact_email: account!.contactEmail },
      )
      if (Object.keys(changes).length > 0) {
        recordAudit(tx, deps.actor, { accountId, action: 'account.updated', targetId: accountId, changes })
      }
      return { account }
    })
  }
