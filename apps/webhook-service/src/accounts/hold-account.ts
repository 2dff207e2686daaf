import type { Actor, HoldAccountRequest, HoldAccountResponse } from '@leadwire/contracts'
import { type Database, recordAudit, ServiceError } from '@leadwire/service-kit'
import { markUnsettled } from '../endpoints/mark-unsettled'

const HOLD = `
  UPDATE endpoints SET enabled = false, held_with_account = true, updated_at = clock_timestamp()
  WHERE id = ANY (ARRAY (SELECT id FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL AND enabled ORDER BY id))
  RETURNING id`

const LET_GO = `
  UPDATE endpoints SET enabled = true, held_with_account = false, updated_at = clock_timestamp()
  WHERE id = ANY (
    ARRAY (SELECT id FROM endpoints WHERE account_id = $1 AND deleted_at IS NULL AND held_with_account ORDER BY id)
  )
  RETURNING id`

const holdIn = (
  { database, actor }: { database: Database; actor: Actor | undefined },
  { accountId, held }: HoldAccountRequest,
): Promise<void> =>
  database.transaction(async (tx) => {
    const endpoints = await tx.query<{ id: number }>({ text: held ? HOLD : LET_GO, values: [accountId] })
    const ids = endpoints.map(({ id }) => id)
    await markUnsettled(tx, ids)
    const action = held ? 'account.held' : 'account.let_go'
    if (ids.length > 0) recordAudit(tx, actor, { accountId, action, targetId: accountId })
  })

/**
 * Disables the endpoints of a suspended account, so that what is to be sent is held; or enables those again that it disabled. May
 * be repeated. Throws invalid.
 */
export const holdAccount = async (
  {
    database,
    notifications,
    actor,
    wake,
    wakeNotifier,
  }: {
    database: Database
    notifications: Database
    actor?: Actor | undefined
    wake: () => void
    wakeNotifier: () => void
  },
  request: HoldAccountRequest,
): Promise<HoldAccountResponse> => {
  if (request.accountId < 1) throw ServiceError.invalid({ account_id: ['must be an id'] })
  await holdIn({ database, actor }, request)
  await holdIn({ database: notifications, actor }, request)
  if (!request.held) {
    wake()
    wakeNotifier()
  }
  return {}
}
