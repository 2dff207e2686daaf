import {
  type CreateLead,
  type CreateLeadsRequest,
  type CreateLeadsResponse,
  leadCost,
} from '@leadwire/contracts'
import {
  createTurns,
  findDeadline,
  isRefusedValue,
  type OpenTransaction,
  resolveKeys,
  ServiceError,
  saveAnswers,
  unlessTimedOut,
} from '@leadwire/service-kit'
import type { OutboxEvent } from '../../outbox/record-events'
import { type JsonSettings, leadEtag, toLeadResult } from '../read/lead-response'
import { type Outcome, type WriteLeadsDeps, writeNewLeads } from './write-new-leads'

/** Writes a batch of new leads. A lead with an idempotency key is written only once. */
const writeBatch = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  items: CreateLead[],
  events: OutboxEvent[],
): Promise<Outcome[]> => {
  const saved = await resolveKeys(
    tx,
    items.map(({ idempotency }) => idempotency),
  )
  const open = items.filter((_, index) => saved[index] === undefined)
  const outcomes = await writeNewLeads(deps, tx, open, events)
  saveAnswers(
    tx,
    open.flatMap((item) => {
      const outcome = outcomes.get(item)!
      if (!item.idempotency || outcome instanceof ServiceError) return []
      return [{ asked: item.idempotency, body: outcome.body, leadReference: outcome.reference }]
    }),
  )
  return items.map((item, index) => {
    const answer = saved[index]
    if (answer === undefined) return outcomes.get(item)!
    if (answer instanceof ServiceError) return answer
    // The saved body shows the lead as it was created, which is its first version.
    return { ...answer, version: 1, created: true, reference: '' }
  })
}

/** Logs why a lead could not be written, and returns the error of its response. */
const reportFailure = (error: unknown, { accountId: account_id }: CreateLead, { logger }: WriteLeadsDeps) => {
  if (error instanceof ServiceError) return error
  if (isRefusedValue(error)) {
    logger.warn({ err: error, account_id }, 'a lead was refused by the database')
    return new ServiceError('bad_request', 'The lead contains a value that cannot be stored.')
  }
  logger.error({ err: error, account_id }, 'could not create a lead')
  return ServiceError.internal()
}

/** Writes a batch in one transaction. Publishes its events after the commit. */
const createBatch = async (
  deps: WriteLeadsDeps,
  items: CreateLead[],
  deadlines: number[],
): Promise<Outcome[]> => {
  const events: OutboxEvent[] = []
  let outcomes: Outcome[]
  try {
    outcomes = await deps.database.transaction((tx) =>
      unlessTimedOut(items, deadlines, (inTime) => writeBatch(deps, tx, inTime, events)),
    )
  } catch (error) {
    if (error instanceof ServiceError || items.length === 1)
      return items.map((item) => reportFailure(error, item, deps))
    return createOneByOne(deps, items, deadlines)
  }
  deps.onCommitted(events)
  return outcomes
}

/**
 * Writes each lead of a batch in a separate transaction. Called after an error, such as a violated
 * constraint, has rolled back the whole batch.
 */
const createOneByOne = async (
  deps: WriteLeadsDeps,
  items: CreateLead[],
  deadlines: number[],
): Promise<Outcome[]> => {
  const outcomes: Outcome[] = []
  for (const [index, item] of items.entries())
    outcomes.push(...(await createBatch(deps, [item], [deadlines[index]!])))
  return outcomes
}

/**
 * The cost, in rows, above which a batch is large. Large batches have a separate queue, because writing a
 * lead with thousands of items takes seconds, and small batches must not wait for it.
 */
const LARGE_BATCH_COST = 300

/**
 * Creates the leads of each batch in one transaction (the lead API, section Create Lead). A gateway batches
 * the creates that arrive while its previous batch is in flight. This service writes only two small batches
 * and one large batch at a time, so that connections stay free, however many gateways there are. Further
 * batches wait in fair queues, in which accounts alternate. A batch counts for the account of its first lead.
 */
export const createLeads = (deps: WriteLeadsDeps) => {
  const runSmall = createTurns(2, deps.meters?.('create'))
  const runLarge = createTurns(1, deps.meters?.('create_large'))

  const createInTurn = async (items: CreateLead[]): Promise<Outcome[]> => {
    const deadlines = items.map(findDeadline)
    const cost = items.reduce((sum, item) => sum + leadCost(item), 0)
    const runInTurn = cost > LARGE_BATCH_COST ? runLarge : runSmall
    return runInTurn(items[0]!.accountId, () => createBatch(deps, items, deadlines))
  }

  return async ({ leads }: CreateLeadsRequest): Promise<CreateLeadsResponse> => {
    if (leads.length === 0) return { results: [] }
    const outcomes = await createInTurn(leads).catch((error) =>
      leads.map((item) => reportFailure(error, item, deps)),
    )
    return { results: outcomes.map((outcome) => describeResult(outcome, deps)) }
  }
}

const describeResult = (outcome: Outcome, { jsonFormat }: JsonSettings) => {
  if (outcome instanceof ServiceError) return toLeadResult(outcome)
  const { body, version, created, replayed } = outcome
  return toLeadResult({ body, created, replayed, etag: leadEtag(version, jsonFormat) })
}
