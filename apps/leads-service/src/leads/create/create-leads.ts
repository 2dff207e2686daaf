import { type CreateLead, type CreateLeadsRequest, leadCost } from '@leadwire/contracts'
import {
  type Answer,
  type BatcherMeters,
  createBatcher,
  isRefusedValue,
  type Logger,
  type OpenTransaction,
  ServiceError,
} from '@leadwire/service-kit'
import { invalidBy } from '../../arguments'
import { insertTogether } from '../../database/inserter'
import { answersOf, resolveKeys } from '../../idempotency/idempotency-keys'
import { eventsOf, type OutboxEvent, type RecordingDeps } from '../../outbox/record-events'
import { type JsonSettings, leadEtag, leadResultOf } from '../read/lead-response'
import { deadlineOf, unlessTimedOut } from '../read/unless-timed-out'
import { renderNewLead } from './build-lead'
import { insertsOf } from './insert-leads'
import { leadErrors } from './lead-arguments'
import { countErrors, type Limits, sizeErrors } from './limits'
import { numberLeads } from './number-leads'
import { loadReferences, type References } from './references'

export interface CreateLeadsDeps extends JsonSettings, RecordingDeps {
  limits: Limits
  logger: Logger
  meters?: BatcherMeters
}

/** The response to an item, or why there is none. */
type Outcome = Answer | ServiceError

/** Why an item may not be created; undefined when it may. */
const refusalOf = (item: CreateLead, references: References, limits: Limits): ServiceError | undefined =>
  invalidBy({ ...countErrors(item, limits), ...references.errorsOf(item) }) ??
  invalidBy(sizeErrors(item, references, limits))

/** Writes leads, their events and saved answers. Leaves out those of accounts that are not there. */
const writeAll = async (
  tx: OpenTransaction,
  items: CreateLead[],
  settings: Parameters<typeof renderNewLead>[2],
) => {
  const stamps = await numberLeads(tx, items)
  const written = items.flatMap((item, index) => {
    const stamp = stamps[index]
    return stamp ? [renderNewLead(item, stamp, settings)] : []
  })
  const answers = written.flatMap(({ item: { idempotency: asked }, body, lead: { reference } }) =>
    asked ? [{ asked, body, leadReference: reference }] : [],
  )
  insertTogether(tx, [...insertsOf(written), eventsOf(written.flatMap(({ event }) => event ?? []))])
  // Separately: with them there would be twice as many statements to prepare.
  insertTogether(tx, [answersOf(answers)])
  return written
}

/** Creates leads with all that belongs to them in a transaction. Adds their events to `events`; without it there are none. */
export const createAll = async (
  deps: CreateLeadsDeps,
  tx: OpenTransaction,
  items: CreateLead[],
  events: OutboxEvent[] | undefined,
): Promise<Outcome[]> => {
  const keys = items.map(({ idempotency }) => idempotency)
  const resolved = await resolveKeys(tx, keys)
  const open = items.filter((_, index) => resolved[index] === undefined)
  const references = await loadReferences(tx, open, deps.assetsUrl)
  const refused = new Map(open.map((item) => [item, refusalOf(item, references, deps.limits)]))
  const accepted = open.filter((item) => refused.get(item) === undefined)
  const settings = { ...references, jsonFormat: deps.jsonFormat, hasEvent: events !== undefined }
  const written = accepted.length > 0 ? await writeAll(tx, accepted, settings) : []
  events?.push(...written.flatMap(({ event }) => event ?? []))
  const made = new Map(written.map(({ item, body }) => [item, { body, replayed: false }]))
  const noAccount = () => new ServiceError('not_found', 'There is no such account.')
  return items.map((item, index) => resolved[index] ?? refused.get(item) ?? made.get(item) ?? noAccount())
}

/** The outcome of an item whose transaction failed for a reason that is not a ServiceError. */
const failureOf = (error: unknown, { accountId: account_id }: CreateLead, { logger }: CreateLeadsDeps) => {
  if (isRefusedValue(error)) {
    logger.warn({ err: error, account_id }, 'a lead was refused by the database')
    return new ServiceError('bad_request', 'A value of the lead can not be stored.')
  }
  logger.error({ err: error, account_id }, 'could not create a lead')
  return ServiceError.internal()
}

const createBatch = async (
  deps: CreateLeadsDeps,
  items: CreateLead[],
  deadlines: number[],
): Promise<Outcome[]> => {
  const events: OutboxEvent[] = []
  try {
    const outcomes = await deps.database.transaction((tx) =>
      unlessTimedOut(items, deadlines, (inTime) => createAll(deps, tx, inTime, events)),
    )
    // At once: what is published before the answers are written travels while they do.
    deps.onCommitted(events)
    return outcomes
  } catch (error) {
    if (error instanceof ServiceError) return items.map(() => error)
    if (items.length === 1) return [failureOf(error, items[0]!, deps)]
    // An item broke a constraint that no check covers. Created separately, each of the others succeeds.
    const outcomes = items.map((item, index) => createBatch(deps, [item], [deadlines[index]!]))
    return (await Promise.all(outcomes)).flat()
  }
}

/** A lead that costs more is created separately: such a transaction takes seconds, and two at once would delay all small ones. */
const LARGE_ROWS = 300

/**
 * Creates leads, each for its own account and with its own result (interface: Create Lead). Those that arrive while a transaction
 * commits share the next one, its locks and its fsync; a lone call never waits. The batcher alternates between accounts, so that
 * one delays another by a batch at most.
 */
export const createLeads = (deps: CreateLeadsDeps) => {
  const batched = (name: string) =>
    createBatcher<CreateLead, Outcome>({
      meter: deps.meters?.(name),
      send: (items, deadlines) => createBatch(deps, items, deadlines),
      maxBatch: 500,
      maxInFlight: 2,
      maxQueued: 20_000,
      costOf: leadCost,
      // In rows: what the next transaction waits for.
      maxBatchCost: 1000,
      queueOf: ({ accountId }) => accountId,
    })
  const create = batched('create')
  const createLarge = batched('create_large')
  const createOne = async (item: CreateLead): Promise<Outcome> => {
    const refused = invalidBy(leadErrors(item))
    if (refused) return refused
    const isLarge = leadCost(item) > LARGE_ROWS
    const limits = { deadline: new Date(deadlineOf(item)), isGone: () => false }
    return (isLarge ? createLarge : create)(item, limits).catch((error) => {
      if (error instanceof ServiceError) return error
      throw error
    })
  }
  // A replayed lead is as it was when it was created: of the first version, whatever became of it.
  const etag = leadEtag(1, deps.jsonFormat)
  return async ({ leads }: CreateLeadsRequest) => {
    const outcomes = await Promise.all(leads.map(createOne))
    const tagged = (outcome: Outcome) => (outcome instanceof ServiceError ? outcome : { ...outcome, etag })
    return { results: outcomes.map((outcome) => leadResultOf(tagged(outcome))) }
  }
}
