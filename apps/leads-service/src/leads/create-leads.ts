import {
  type CreateLead,
  type CreateLeadsRequest,
  type CreateLeadsResponse,
  encodeMessage,
  LeadCreated,
  type LeadResult,
} from '@leadwire/contracts'
import {
  type Database,
  failureOf,
  gather,
  type Logger,
  type OpenTransaction,
  ServiceError,
  type Transaction,
} from '@leadwire/service-kit'
import { judgeKeys, saveAnswers } from '../idempotency/idempotency-keys'
import { type OutboxEvent, recordEvents } from '../outbox/record-events'
import { draftLead } from './draft-lead'
import { insertLeads } from './insert-leads'
import { insertQuotes } from './insert-quotes'
import { leadBody } from './lead-body'
import { loadReferences } from './load-references'
import { sizeFaults } from './size-faults'
import { stampEvent } from './stamp-event'

interface Deps {
  database: Database
  assetsUrl: string
  logger: Logger
  /** Called after a commit with the events it left in the outbox. */
  onCommitted: (events: OutboxEvent[]) => void
}

type Outcome = { body: Buffer } | { error: ServiceError }

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
    return 'body' in verdict ? { body: verdict.body } : { error: verdict.error }
  })
}

const insertAll = async (
  deps: Deps,
  tx: OpenTransaction,
  items: CreateLead[],
  references: Awaited<ReturnType<typeof loadReferences>>,
) => {
  const drafts = items.map(draftLead)
  const toFollow = drafts.some(({ item, payload }) => item.idempotency || !payload)
  const stamps = await insertLeads(tx, drafts, { toFollow })
  const stamped = drafts.map(({ event }, index) => stampEvent(event, stamps[index]!))
  const quotes = await insertQuotes(
    tx,
    stamped.map(({ accountId, lead }, index) => ({
      accountId,
      leadId: lead!.id,
      createdAt: lead!.createdAt,
      quotes: items[index]!.lead!.quotes,
    })),
    references.imageOf,
    deps.assetsUrl,
  )
  const leads = stamped.map(({ lead }, index) => ({ ...lead!, quotes: quotes[index]! }))
  const events = stamped.map((event, index): OutboxEvent => {
    const payload = encodeMessage(LeadCreated, { ...event, lead: leads[index]! })
    return { eventId: event.eventId, accountId: event.accountId, kind: 'lead.created', payload }
  })
  recordEvents(
    tx,
    events.filter((_, index) => !drafts[index]!.payload),
  )
  return { bodies: leads.map(leadBody), events }
}

/** One transaction for many leads: customers, leads, quotes, outbox rows and saved answers, or nothing of them. */
const createInOneTransaction = (
  deps: Deps,
  items: CreateLead[],
): Promise<{ outcomes: Outcome[]; events: OutboxEvent[] }> =>
  deps.database.transaction(async (tx) => {
    const outcomes = await settleByKey(tx, items)
    const open = items.filter((_, index) => outcomes[index] === undefined)
    const references = await loadReferences(tx, open)
    items.forEach((item, index) => {
      if (outcomes[index] !== undefined) return
      const faults = references.faultsOf(item) ?? sizeFaults(item, references.imageOf)
      if (faults) outcomes[index] = { error: ServiceError.invalid(faults) }
    })
    const good = items.filter((_, index) => outcomes[index] === undefined)
    const { bodies, events } =
      good.length > 0 ? await insertAll(deps, tx, good, references) : { bodies: [], events: [] }
    saveAnswers(
      tx,
      good.flatMap(({ idempotency }, index) =>
        idempotency ? [{ asked: idempotency, body: bodies[index]! }] : [],
      ),
    )
    return { outcomes: outcomes.map((outcome) => outcome ?? { body: bodies.shift()! }), events }
  })

const createBatch = async (deps: Deps, items: CreateLead[]): Promise<Outcome[]> => {
  try {
    const { outcomes, events } = await createInOneTransaction(deps, items)
    // At once: what is published before the answers are written travels while they do.
    deps.onCommitted(events)
    return outcomes
  } catch (error) {
    if (error instanceof ServiceError || items.length === 1) throw error
    // Something one item carries broke a constraint that nobody foresaw. Alone, each of the others goes through.
    return Promise.all(items.map((item) => createAlone(deps, item)))
  }
}

const createAlone = async (deps: Deps, item: CreateLead): Promise<Outcome> => {
  try {
    const [outcome] = await createBatch(deps, [item])
    return outcome!
  } catch (error) {
    if (error instanceof ServiceError) return { error }
    deps.logger.error({ err: error, account_id: item.accountId }, 'could not create a lead')
    return { error: new ServiceError('internal', 'Something went wrong on our side.') }
  }
}

const resultOf = (outcome: Outcome): LeadResult => ({
  result:
    'body' in outcome
      ? { $case: 'body', value: outcome.body }
      : { $case: 'failure', value: failureOf(outcome.error) },
})

/**
 * Creates leads, each for its own account and with its own result (interface: Create Lead).
 *
 * Whatever arrives in this process while one transaction commits goes into the next, so that the account's row lock
 * and the commit's fsync are shared; a lone call never waits.
 */
export const createLeads = (deps: Deps): ((request: CreateLeadsRequest) => Promise<CreateLeadsResponse>) => {
  const create = gather<CreateLead, Outcome>({
    send: (items) => createBatch(deps, items),
    maxBatch: 500,
    maxInFlight: 2,
    maxQueued: 20_000,
  })
  return async ({ leads }) => ({
    results: (await Promise.all(leads.map((item) => create(item)))).map(resultOf),
  })
}
