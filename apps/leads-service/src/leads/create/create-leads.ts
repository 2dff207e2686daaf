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
import { lockProgress } from '../../jobs/search/write-terms'
import { eventsOf, type OutboxEvent, type RecordingDeps } from '../../outbox/record-events'
import { type JsonSettings, leadEtag, leadResultOf, matchError } from '../read/lead-response'
import { deadlineOf, unlessTimedOut } from '../read/unless-timed-out'
import { renderNewLead } from './build-lead'
import { changeLeads, mergeAttributes } from './change-leads'
import { countDaily } from './count-daily'
import { findByExternalIds, lockExternalIds, roundsOf } from './external-ids'
import { insertsOf } from './insert-leads'
import { leadErrors, missingErrors } from './lead-arguments'
import { countErrors, type Limits, sizeErrors } from './limits'
import { lockAccounts, numberLeads } from './number-leads'
import { loadReferences, type References } from './references'

export interface CreateLeadsDeps extends JsonSettings, RecordingDeps {
  limits: Limits
  logger: Logger
  meters?: BatcherMeters
}

/** The response to an item, of which version of the lead and whether it is new, or why there is none. */
export type Outcome = (Answer & { version: number; created: boolean }) | ServiceError

/** Why an item may not be written; undefined when it may. `whole` has what a lead that is there had before. */
const refusalOf = (
  item: CreateLead,
  { references, limits }: { references: References; limits: Limits },
  whole = item,
): ServiceError | undefined =>
  invalidBy({ ...countErrors(whole, limits), ...references.errorsOf(item) }) ??
  invalidBy(sizeErrors(whole, references, limits))

const TAKEN = { external_id: ['The external id has already been taken.'] }

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

/** A new lead has no attributes to take away. */
const withoutNulls = (item: CreateLead): CreateLead => {
  const lead = item.lead!
  if (lead.attributes === undefined) return item
  return { ...item, lead: { ...lead, attributes: mergeAttributes(undefined, lead.attributes) } }
}

/** Writes items of which no two have one external id. */
const writeRound = async (
  deps: CreateLeadsDeps,
  tx: OpenTransaction,
  items: CreateLead[],
  { references, events }: { references: References; events: OutboxEvent[] | undefined },
): Promise<Map<CreateLead, Outcome>> => {
  const known = { references, limits: deps.limits }
  const outcomes = new Map<CreateLead, Outcome>()
  const found = await findByExternalIds(tx, items)
  const upserts = [...found].flatMap(([item, row]) => (item.lead!.upsert ? [{ item, row }] : []))
  if (upserts.length > 0) {
    const refuse = (item: CreateLead, whole: CreateLead) => refusalOf(item, known, whole)
    const changed = await changeLeads(upserts, { ...deps, tx, references, refusalOf: refuse, events })
    for (const [index, { item }] of upserts.entries()) outcomes.set(item, changed[index]!)
  }
  // What is written of each item that makes a lead.
  const accepted = new Map<CreateLead, CreateLead>()
  for (const item of items) {
    if (outcomes.has(item)) continue
    const whole = withoutNulls(item)
    const missing = () => matchError(item.lead!.upsert?.ifMatch, undefined) ?? invalidBy(missingErrors(item))
    const refused = found.has(item) ? ServiceError.invalid(TAKEN) : missing()
    const outcome = refused ?? refusalOf(item, known, whole)
    if (outcome) outcomes.set(item, outcome)
    else accepted.set(whole, item)
  }
  for (const [whole, error] of await countDaily(tx, [...accepted.keys()])) {
    outcomes.set(accepted.get(whole)!, error)
    accepted.delete(whole)
  }
  if (accepted.size === 0) return outcomes
  const settings = { ...references, jsonFormat: deps.jsonFormat, hasEvent: events !== undefined }
  for (const { item, body, event } of await writeAll(tx, [...accepted.keys()], settings)) {
    outcomes.set(accepted.get(item)!, { body, replayed: false, version: 1, created: true })
    if (event) events?.push(event)
  }
  return outcomes
}

/**
 * Creates leads with all that belongs to them in a transaction, and changes those that upserts name. Adds their events to `events`;
 * without it there are none. Locks external ids, leads, the progress of search, tokens, accounts, in this order.
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
  lockExternalIds(tx, open)
  const references = await loadReferences(tx, open, deps.assetsUrl)
  const [first = [], ...rounds] = roundsOf(open)
  if (rounds.length > 0) {
    // What each round would lock, so that no later one locks behind it what comes before.
    await findByExternalIds(tx, first)
    const accountIds = [...new Set(open.map(({ accountId }) => accountId))].sort((a, b) => a - b)
    for (const accountId of accountIds) await lockProgress(tx, accountId, { skip: false })
    lockAccounts.send(tx, accountIds)
  }
  const outcomes = await writeRound(deps, tx, first, { references, events })
  for (const round of rounds)
    for (const [item, outcome] of await writeRound(deps, tx, round, { references, events }))
      outcomes.set(item, outcome)
  const noAccount = () => new ServiceError('not_found', 'There is no such account.')
  // A replayed lead is as it was when it was created: of the first version, whatever became of it.
  const replayed = (answer: Answer | ServiceError) =>
    answer instanceof ServiceError ? answer : { ...answer, version: 1, created: true }
  return items.map((item, index) => {
    const answer = resolved[index]
    return answer ? replayed(answer) : (outcomes.get(item) ?? noAccount())
  })
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
  // Separately: they wait for others of the same external id.
  const createExternal = batched('create_external')
  const createLarge = batched('create_large')
  const createOne = async (item: CreateLead): Promise<Outcome> => {
    const refused = invalidBy(leadErrors(item))
    if (refused) return refused
    const isLarge = leadCost(item) > LARGE_ROWS
    const limits = { deadline: new Date(deadlineOf(item)), isGone: () => false }
    const queue = isLarge ? createLarge : item.lead!.externalId === undefined ? create : createExternal
    return queue(item, limits).catch((error) => {
      if (error instanceof ServiceError) return error
      throw error
    })
  }
  return async ({ leads }: CreateLeadsRequest) => {
    const outcomes = await Promise.all(leads.map(createOne))
    const tagged = (outcome: Outcome) =>
      outcome instanceof ServiceError
        ? outcome
        : { ...outcome, etag: leadEtag(outcome.version, deps.jsonFormat) }
    return { results: outcomes.map((outcome) => leadResultOf(tagged(outcome))) }
  }
}
