import {
  type CreateLead,
  type CreateLeadsRequest,
  type CreateLeadsResponse,
  leadCost,
} from '@leadwire/contracts'
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
import { leadEtag } from '../read/lead-etag'
import { leadResultOf } from '../read/lead-result'
import type { JsonSettings } from '../read/load-leads'
import { deadlineOf, unlessTimedOut } from '../read/unless-timed-out'
import { insertsOf } from './insert-leads'
import { leadErrors } from './lead-arguments'
import { countErrors, type Limits, sizeErrors } from './limits'
import { loadReferences, type References } from './load-references'
import { numberLeads } from './number-leads'
import { renderNewLead } from './render-new-lead'

export interface CreateLeadsDeps extends JsonSettings, RecordingDeps {
  limits: Limits
  logger: Logger
  meters?: BatcherMeters
}

/** The response to an item, or why there is none. */
type Outcome = Answer | ServiceError

const noSuchAccount = () => new ServiceError('not_found', 'There is no such account.')

/** Why an item may not be created; undefined when it may. */
const refusalOf = (item: CreateLead, references: References, limits: Limits): ServiceError | undefined =>
  invalidBy({ ...countErrors(item, limits), ...references.errorsOf(item) }) ??
  invalidBy(sizeErrors(item, references.imageOf, limits))

/** Writes leads, their events and saved answers. Leaves out those of accounts that are not there. */
const writeAll = async (
  tx: OpenTransaction,
  items: CreateLead[],
  { isTold, ...settings }: { imageOf: References['imageOf']; jsonFormat: number; isTold: boolean },
) => {
  const stamps = await numberLeads(tx, items)
  const written = items.flatMap((item, index) => {
    const stamp = stamps[index]
    return stamp ? [renderNewLead(item, stamp, settings)] : []
  })
  const leads = written.map(({ event, ...rest }) => ({
    ...rest,
    eventId: isTold ? event.eventId : undefined,
  }))
  const answers = written.flatMap(({ item: { idempotency: asked }, body, lead: { reference } }) =>
    asked ? [{ asked, body, leadReference: reference }] : [],
  )
  const events = isTold ? written.map(({ event }) => event) : []
  insertTogether(tx, [...insertsOf(leads), eventsOf(events)])
  // Apart: with them there would be twice as many statements to prepare.
  insertTogether(tx, [answersOf(answers)])
  return written
}

/**
 * Creates leads in a transaction: customers, leads, quotes, outbox rows and saved answers. Adds to `events` what it recorded;
 * without them no events are published.
 */
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
  const outcomes = new Map<CreateLead, Outcome>()
  const accepted: CreateLead[] = []
  for (const item of open) {
    const refusal = refusalOf(item, references, deps.limits)
    if (refusal) outcomes.set(item, refusal)
    else accepted.push(item)
  }
  const { imageOf } = references
  const settings = { imageOf, jsonFormat: deps.jsonFormat, isTold: events !== undefined }
  const written = accepted.length > 0 ? await writeAll(tx, accepted, settings) : []
  events?.push(...written.map(({ event }) => event))
  for (const { item, body } of written) outcomes.set(item, { body, replayed: false })
  return items.map((item, index) => resolved[index] ?? outcomes.get(item) ?? noSuchAccount())
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
    if (error instanceof ServiceError || items.length === 1) throw error
    // An item broke a constraint that no check covers. Created separately, each of the others succeeds.
    return Promise.all(items.map((item, index) => createAlone(deps, item, deadlines[index]!)))
  }
}

const createAlone = async (deps: CreateLeadsDeps, item: CreateLead, deadline: number): Promise<Outcome> => {
  try {
    const [outcome] = await createBatch(deps, [item], [deadline])
    return outcome!
  } catch (error) {
    if (error instanceof ServiceError) return error
    if (isRefusedValue(error)) {
      deps.logger.warn({ err: error, account_id: item.accountId }, 'a lead was refused by the database')
      return new ServiceError('bad_request', 'A value of the lead can not be stored.')
    }
    deps.logger.error({ err: error, account_id: item.accountId }, 'could not create a lead')
    return new ServiceError('internal', 'Something went wrong on our side.')
  }
}

/** The rows that one transaction writes at most, unless a single lead has more: what the next one waits for. */
const ROWS_OF_A_BATCH = 1000
/** A lead that costs more is created separately. */
const LARGE_ROWS = 300

/**
 * Creates leads, each for its own account and with its own result (interface: Create Lead).
 *
 * Whatever arrives in this process while one transaction commits goes into the next, so that the account's row lock
 * and the commit's fsync are shared; a lone call never waits. The batcher alternates between accounts, so that one with many or large leads
 * delays another's by a batch at most.
 */
export const createLeads = (
  deps: CreateLeadsDeps,
): ((request: CreateLeadsRequest) => Promise<CreateLeadsResponse>) => {
  const batched = (name: string) =>
    createBatcher<CreateLead, Outcome>({
      meter: deps.meters?.(name),
      send: (items, deadlines) => createBatch(deps, items, deadlines),
      maxBatch: 500,
      maxInFlight: 2,
      maxQueued: 20_000,
      costOf: leadCost,
      maxBatchCost: ROWS_OF_A_BATCH,
      queueOf: ({ accountId }) => accountId,
    })
  const create = batched('create')
  // On their own: a transaction with one takes seconds, and two of them at once would hold up everybody's small ones.
  const createLarge = batched('create_large')
  const createOne = async (item: CreateLead): Promise<Outcome> => {
    const refused = invalidBy(leadErrors(item))
    if (refused) return refused
    try {
      const isLarge = leadCost(item) > LARGE_ROWS
      return await (isLarge ? createLarge : create)(item, {
        deadline: new Date(deadlineOf(item)),
        isGone: () => false,
      })
    } catch (error) {
      if (error instanceof ServiceError) return error
      throw error
    }
  }
  // A replayed lead is as it was when it was created: of the first version, whatever became of it.
  const etag = leadEtag(1, deps.jsonFormat)
  const taggedOf = (outcome: Outcome) =>
    outcome instanceof ServiceError ? outcome : { body: outcome.body, replayed: outcome.replayed, etag }
  return async ({ leads }) => {
    const outcomes = await Promise.all(leads.map(createOne))
    return { results: outcomes.map((outcome) => leadResultOf(taggedOf(outcome))) }
  }
}
