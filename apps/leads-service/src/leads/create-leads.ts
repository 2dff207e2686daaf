import {
  type CreateLead,
  type CreateLeadsRequest,
  type CreateLeadsResponse,
  LeadCreated,
  type LeadResult,
  leadCost,
} from '@leadwire/contracts'
import {
  type Database,
  deadlineOf,
  gather,
  isRefusedValue,
  type Logger,
  type OpenTransaction,
  ServiceError,
  statusOf,
  type Transaction,
  unlessLate,
} from '@leadwire/service-kit'
import { judgeKeys, saveAnswers } from '../idempotency/idempotency-keys'
import { type OutboxEvent, recordEvents } from '../outbox/record-events'
import { type Draft, draftLead } from './draft-lead'
import { insertLeads } from './insert-leads'
import { leadFaults } from './lead-arguments'
import { leadBody, leadJsonOf } from './lead-json'
import { countFaults, type Limits, sizeFaults } from './limits'
import { loadReferences } from './load-references'
import { numberLeads } from './number-leads'
import { stampEvent } from './stamp-event'

interface Deps {
  database: Database
  assetsUrl: string
  jsonFormat: number
  limits: Limits
  logger: Logger
  /** Called after a commit with the events it left in the outbox. */
  onCommitted: (events: OutboxEvent[]) => void
}

/** The response to an item, or why there is none. */
type Outcome = Buffer | ServiceError

/** Judges each item's key. Answers the outcome of those that are settled by it, and undefined for those to go on with. */
const settleByKey = async (tx: Transaction, items: CreateLead[]): Promise<(Outcome | undefined)[]> => {
  const keyed = items.filter((item) => item.idempotency !== undefined)
  const verdicts = await judgeKeys(
    tx,
    keyed.map((item) => item.idempotency!),
  )
  return items.map((item) => {
    const verdict = verdicts[keyed.indexOf(item)]
    if (!verdict || verdict.proceed) return undefined
    return 'body' in verdict ? verdict.body : verdict.error
  })
}

/** Writes leads and their events. A draft of an account that is not there comes back undefined. */
const insertAll = async ({ jsonFormat }: Deps, tx: OpenTransaction, drafts: Draft[]) => {
  const stamps = await numberLeads(tx, drafts)
  const made = drafts.map((draft, index) => {
    const stamp = stamps[index]
    if (!stamp) return undefined
    const event = stampEvent(draft.event, stamp)
    const { eventId, accountId } = event
    const lead = event.lead!
    const json = leadJsonOf(lead, jsonFormat)
    const { userId, test } = draft.item.lead!
    return {
      rows: { accountId, number: stamp.number, userId, test, lead, json },
      event: {
        eventId,
        accountId,
        kind: 'lead.created' as const,
        payload: LeadCreated.encode(event).finish(),
      },
      body: leadBody(json),
    }
  })
  const inserted = made.filter((one) => one !== undefined)
  insertLeads(
    tx,
    inserted.map(({ rows }) => rows),
  )
  recordEvents(
    tx,
    inserted.map(({ event }) => event),
  )
  return made
}

const noSuchAccount = () => new ServiceError('not_found', 'There is no such account.')

/** The drafts of items that may be created; undefined where an outcome is known, or becomes known here. */
const draftAll = async (
  deps: Deps,
  tx: Transaction,
  items: CreateLead[],
  outcomes: (Outcome | undefined)[],
): Promise<(Draft | undefined)[]> => {
  const open = items.filter((_, index) => outcomes[index] === undefined)
  const references = await loadReferences(tx, open, deps.assetsUrl)
  return items.map((item, index) => {
    if (outcomes[index] !== undefined) return undefined
    const faults = { ...countFaults(item, deps.limits), ...references.faultsOf(item) }
    if (Object.keys(faults).length > 0) {
      outcomes[index] = ServiceError.invalid(faults)
      return undefined
    }
    const draft = draftLead(item, references.imageOf)
    const tooLarge = sizeFaults(item, draft.bytes, deps.limits)
    if (!tooLarge) return draft
    outcomes[index] = ServiceError.invalid(tooLarge)
    return undefined
  })
}

/** Creates leads in a transaction: customers, leads, quotes, outbox rows and saved answers. Adds to `events` what it recorded. */
const createAll = async (
  deps: Deps,
  tx: OpenTransaction,
  items: CreateLead[],
  events: OutboxEvent[],
): Promise<Outcome[]> => {
  const outcomes = await settleByKey(tx, items)
  const drafts = (await draftAll(deps, tx, items, outcomes)).filter((draft) => draft !== undefined)
  const inserted = drafts.length > 0 ? await insertAll(deps, tx, drafts) : []
  events.push(...inserted.flatMap((one) => (one ? [one.event] : [])))
  saveAnswers(
    tx,
    drafts.flatMap(({ item: { idempotency } }, index) => {
      const body = inserted[index]?.body
      return idempotency && body ? [{ asked: idempotency, body }] : []
    }),
  )
  const made = inserted.values()
  return outcomes.map((outcome) => outcome ?? made.next().value?.body ?? noSuchAccount())
}

const createBatch = async (deps: Deps, items: CreateLead[], deadlines: number[]): Promise<Outcome[]> => {
  const events: OutboxEvent[] = []
  try {
    const outcomes = await deps.database.transaction((tx) =>
      unlessLate(items, deadlines, (inTime) => createAll(deps, tx, inTime, events)),
    )
    // At once: what is published before the answers are written travels while they do.
    deps.onCommitted(events)
    return outcomes
  } catch (error) {
    if (error instanceof ServiceError || items.length === 1) throw error
    // Something one item carries broke a constraint that nobody foresaw. Alone, each of the others goes through.
    return Promise.all(items.map((item, index) => createAlone(deps, item, deadlines[index]!)))
  }
}

const createAlone = async (deps: Deps, item: CreateLead, deadline: number): Promise<Outcome> => {
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

const resultOf = (outcome: Outcome): LeadResult => ({
  result:
    outcome instanceof ServiceError
      ? { $case: 'failure', value: statusOf(outcome) }
      : { $case: 'body', value: outcome },
})

/** The rows that one transaction writes at most, unless a single lead has more: what the next one waits for. */
const ROWS_OF_A_BATCH = 1000
/** A lead that costs more is created apart from the others. */
const LARGE_ROWS = 300

/**
 * Creates leads, each for its own account and with its own result (interface: Create Lead).
 *
 * Whatever arrives in this process while one transaction commits goes into the next, so that the account's row lock
 * and the commit's fsync are shared; a lone call never waits. Accounts take turns, so that one with many or large leads
 * holds up another's for the time of a batch.
 */
export const createLeads = (deps: Deps): ((request: CreateLeadsRequest) => Promise<CreateLeadsResponse>) => {
  const gathered = () =>
    gather<CreateLead, Outcome>({
      send: (items, deadlines) => createBatch(deps, items, deadlines),
      maxBatch: 500,
      maxInFlight: 2,
      maxQueued: 20_000,
      costOf: leadCost,
      maxBatchCost: ROWS_OF_A_BATCH,
      laneOf: ({ accountId }) => accountId,
    })
  const create = gathered()
  // On their own: a transaction with one takes seconds, and two of them at once would hold up everybody's small ones.
  const createLarge = gathered()
  const createOne = async (item: CreateLead): Promise<Outcome> => {
    const faults = leadFaults(item)
    if (faults) return ServiceError.invalid(faults)
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
  return async ({ leads }) => ({ results: (await Promise.all(leads.map(createOne))).map(resultOf) })
}
