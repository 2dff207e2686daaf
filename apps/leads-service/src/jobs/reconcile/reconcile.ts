import {
  ReconcileCounts,
  ReconcileCursor,
  type ReconcileRequest,
  type ReconcileResponse,
} from '@leadwire/contracts'
import { isId, isInstant, isUuid, validate } from '../../arguments'
import { checkLeads } from './check-leads'
import { checkOutbox } from './check-outbox'
import { keepFindings } from './findings'
import { recheckFindings } from './recheck-findings'
import { findingOf, type ReconcileDeps } from './reconcile-deps'

interface Request {
  accountId: number | undefined
  full: boolean
  cursor: ReconcileCursor
}

/** The result of a batch. Without a cursor its stage is finished. */
interface Batch {
  counts?: Partial<ReconcileCounts>
  cursor?: ReconcileCursor | undefined
}

type Stage = (deps: ReconcileDeps, request: Request) => Promise<Batch>

const leads: Stage = async (deps, { cursor, ...options }) => {
  const { counts, next } = await checkLeads(deps, cursor, options)
  // With --full deliveries are counted with the events that they belong to, of all kinds.
  const { pending, inFlight, held, delivered, exhausted, cancelled, ...ofLeads } = counts
  return { counts: options.full ? ofLeads : counts, cursor: next && { ...cursor, ...next } }
}

const events =
  (notifications: boolean): Stage =>
  async ({ database, webhooks }, { accountId, full, cursor }) => {
    if (!full) return {}
    const afterId = cursor.afterEventId === '' ? undefined : cursor.afterEventId
    const { violations, deliveries, lastId } = await webhooks.checkNextEvents({
      notifications,
      afterId,
      accountId,
    })
    await database.transaction(async (tx) => keepFindings(tx, violations.map(findingOf)))
    return {
      counts: deliveries!,
      cursor: lastId === undefined ? undefined : { ...cursor, afterEventId: lastId },
    }
  }

const deliveries =
  (notifications: boolean): Stage =>
  async ({ database, webhooks }, { accountId, cursor }) => {
    const afterEndpointId = cursor.afterId === 0 ? undefined : cursor.afterId
    const asked = { notifications, afterEndpointId, accountId }
    const { violations, lastEndpointId } = await webhooks.checkDeliveries(asked)
    await database.transaction(async (tx) => keepFindings(tx, violations.map(findingOf)))
    return { cursor: lastEndpointId === undefined ? undefined : { ...cursor, afterId: lastEndpointId } }
  }

const outbox: Stage = async (deps, { accountId }) => {
  await checkOutbox(deps, accountId)
  return {}
}

const findings: Stage = async (deps, { accountId, cursor }) => {
  const isMore = await recheckFindings(deps, { startedAt: cursor.startedAt, accountId })
  return { cursor: isMore ? cursor : undefined }
}

const FINISH = 'UPDATE reconciliation SET started_at = $1, finished_at = clock_timestamp()'

const finish: Stage = async ({ database }, { accountId, cursor }) => {
  if (accountId === undefined) await database.query({ text: FINISH, values: [cursor.startedAt] })
  return {}
}

const STAGES: [name: string, stage: Stage][] = [
  ['leads', leads],
  ['webhooks', events(false)],
  ['notifications', events(true)],
  ['webhook_deliveries', deliveries(false)],
  ['notification_deliveries', deliveries(true)],
  ['outbox', outbox],
  ['findings', findings],
  ['finish', finish],
]

const begin = async ({ database }: ReconcileDeps): Promise<ReconcileCursor> => {
  const [row] = await database.query<{ at: string }>({ text: 'SELECT clock_timestamp() AS at' })
  return ReconcileCursor.fromPartial({ startedAt: row!.at, stage: 'leads', afterNumber: -1 })
}

/**
 * Checks a batch and stores what is unexplained. The next call passes the cursor of the response; without a cursor the check is
 * finished. Throws invalid, and unavailable while webhook-service is unavailable.
 */
export const reconcile =
  (deps: ReconcileDeps) =>
  async ({ accountId, full, cursor: given }: ReconcileRequest): Promise<ReconcileResponse> => {
    const cursor = given ?? (await begin(deps))
    const at = STAGES.findIndex(([name]) => name === cursor.stage)
    validate({
      account_id: accountId === undefined || isId(accountId),
      cursor:
        at >= 0 && isInstant(cursor.startedAt) && (cursor.afterEventId === '' || isUuid(cursor.afterEventId)),
    })
    const batch = await STAGES[at]![1](deps, { accountId, full, cursor })
    const following = STAGES[at + 1]
    const next =
      batch.cursor ??
      (following && ReconcileCursor.fromPartial({ startedAt: cursor.startedAt, stage: following[0] }))
    return { counts: ReconcileCounts.fromPartial(batch.counts ?? {}), cursor: next }
  }
