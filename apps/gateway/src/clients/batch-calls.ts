import {
  AccountsServiceDefinition,
  type CreateLead,
  type LeadPage,
  type LeadPageResult,
  type LeadResult,
  LeadsServiceDefinition,
  leadCost,
  type RetrieveLead,
  type VerifiedToken,
} from '@leadwire/contracts'
import {
  type BatcherMeters,
  type CallLimits,
  type connectBatches,
  createBatcher,
  ServiceError,
} from '@leadwire/service-kit'

/*
 * Four kinds of calls to leads-service are batched: retrieve, list, create, and the verification of tokens.
 * These calls make up nearly all requests. Every other call is a plain unary call.
 *
 * Reasons: gRPC has a cost for each call. A message on an open stream takes 60 µs of processor time on both
 * ends together, and a unary call takes 480 µs (grpc-js 1.14). With a unary call for each request, the
 * gateway serves only half as many requests per second. The creates of a batch also share a transaction: one
 * fsync, one lock on the account's row.
 *
 * Batches: a single request is sent at once. While two batches of a kind are in flight, further requests of
 * this kind wait in a queue, and are sent together as the next batch. A batch takes one request from each
 * account in turn, so that an account with many requests delays another account by at most one batch.
 * leads-service responds to a batch as a whole, so the slowest item of a batch delays all its other items.
 * For this reason filtered lists are not batched, and each large lead is sent in a separate batch.
 *
 * Deadlines: each item carries the time in milliseconds that its request has left (`timeoutMs`).
 * leads-service does not begin an item whose time has passed. The deadline of the call is the latest deadline
 * of its items. A create that reaches its deadline gets 504 if its batch was sent, because the work may have
 * been done. In all other cases, a request that reaches its deadline gets 503.
 *
 * Streams: a batch uses an idle stream or opens a new stream. A stream carries one batch at a time.
 * leads-service ends a stream after 20 s, so that the next stream may reach a new copy of leads-service. When
 * leads-service drains, it ends all streams. If a stream ends normally without a response, leads-service has
 * not read the batch, and the gateway sends the batch again on another stream. If a stream breaks, the batch
 * fails, because a create must not be done twice. libs/service-kit/src/grpc/batches.ts implements the
 * streams.
 */

const BATCHES = { maxBatch: 256, maxInFlight: 2, maxQueued: 10_000, maxWaitMs: 3000 }

const findAccount = ({ accountId }: { accountId: number }) => accountId

// The maximum number of reads in a batch. This number is small, because the result of each read may have a
// megabyte.
const MAX_READS = 64

/**
 * The maximum cost of a batch of creates, in rows (`leadCost`). A lead with a higher cost is a large lead.
 */
const MAX_CREATE_COST = 300

const LARGE_LEAD_WAIT_MS = 10_000

type Send<Item, Result> = (items: Item[], deadlines: number[]) => Promise<Result[]>

/**
 * Makes the function that sends a batch with `call`. Each item carries the remaining time of its request.
 */
const sendInTime =
  <Item extends { timeoutMs?: number | undefined }, Result>(
    call: (items: Item[], deadline: number) => Promise<{ results: Result[] }>,
  ): Send<Item, Result> =>
  async (items, deadlines) => {
    const now = Date.now()
    for (const [index, item] of items.entries()) item.timeoutMs = Math.max(1, deadlines[index]! - now)
    const { results } = await call(items, Math.max(...deadlines))
    return results
  }

/** Sends reads with the same key only once, with the latest deadline of these reads. */
const sendOnce =
  <Item, Result>(readKey: (item: Item) => string, send: Send<Item, Result>): Send<Item, Result> =>
  async (items, deadlines) => {
    const places = new Map<string, number>()
    const sentItems: Item[] = []
    const sentDeadlines: number[] = []
    for (const [index, item] of items.entries()) {
      const key = readKey(item)
      const deadline = deadlines[index]!
      const place = places.get(key)
      if (place === undefined) {
        places.set(key, sentItems.length)
        sentItems.push(item)
        sentDeadlines.push(deadline)
      } else {
        sentDeadlines[place] = Math.max(sentDeadlines[place]!, deadline)
      }
    }
    const results = await send(sentItems, sentDeadlines)
    return items.map((item) => results[places.get(readKey(item))!]!)
  }

// The gRPC code RESOURCE_EXHAUSTED: the response exceeds the maximum size of a message.
const TOO_LARGE = 8

const isTooLarge = (error: unknown): boolean =>
  error instanceof ServiceError && (error.cause as { code?: unknown } | undefined)?.code === TOO_LARGE

/**
 * Sends reads. If the response is too large, sends the reads again in two halves, so that one large lead does
 * not fail the other reads.
 */
const sendInHalves =
  <Item, Result>(send: Send<Item, Result>): Send<Item, Result> =>
  async (items, deadlines) => {
    try {
      return await send(items, deadlines)
    } catch (error) {
      if (items.length === 1 || !isTooLarge(error)) throw error
    }
    const half = Math.ceil(items.length / 2)
    const again = sendInHalves(send)
    const first = await again(items.slice(0, half), deadlines.slice(0, half))
    const second = await again(items.slice(half), deadlines.slice(half))
    return [...first, ...second]
  }

/** Makes functions that call leads-service for one item each. The items are sent in batches. */
export const createBatchedCalls = (
  streams: ReturnType<typeof connectBatches>,
  meters: BatcherMeters | undefined,
) => {
  const retrieveLeads = streams.method(LeadsServiceDefinition, 'retrieveLeads')
  const listLeads = streams.method(LeadsServiceDefinition, 'listLeads')
  const createLeads = streams.method(LeadsServiceDefinition, 'createLeads')
  const verifyTokens = streams.method(AccountsServiceDefinition, 'verifyTokens')

  const retrieveLead = createBatcher<RetrieveLead, LeadResult>({
    ...BATCHES,
    maxBatch: MAX_READS,
    findQueue: findAccount,
    meter: meters?.('retrieve'),
    send: sendOnce(
      ({ accountId, reference }) => `${accountId} ${reference}`,
      sendInHalves(sendInTime((leads, deadline) => retrieveLeads({ leads }, deadline))),
    ),
  })

  const listPage = createBatcher<LeadPage, LeadPageResult>({
    ...BATCHES,
    maxBatch: MAX_READS,
    findQueue: findAccount,
    meter: meters?.('list'),
    send: sendOnce(
      ({ accountId, page }) => `${accountId} ${page}`,
      sendInHalves(sendInTime((pages, deadline) => listLeads({ pages }, deadline))),
    ),
  })

  const sendCreates = sendInTime((leads: CreateLead[], deadline) => createLeads({ leads }, deadline))
  const createSmallLead = createBatcher<CreateLead, LeadResult>({
    ...BATCHES,
    findQueue: findAccount,
    computeCost: leadCost,
    maxBatchCost: MAX_CREATE_COST,
    meter: meters?.('create'),
    send: sendCreates,
  })
  const createLargeLead = createBatcher<CreateLead, LeadResult>({
    ...BATCHES,
    maxBatch: 1,
    maxWaitMs: LARGE_LEAD_WAIT_MS,
    findQueue: findAccount,
    meter: meters?.('create_large'),
    send: sendCreates,
  })

  const verifyToken = createBatcher<Uint8Array, VerifiedToken | undefined>({
    ...BATCHES,
    meter: meters?.('verify_token'),
    send: async (hashes, deadlines) => {
      const { results } = await verifyTokens({ hashes: hashes as Buffer[] }, Math.max(...deadlines))
      return results.map(({ token }) => token)
    },
  })

  const createLead = (item: CreateLead, limits: CallLimits): Promise<LeadResult> =>
    leadCost(item) > MAX_CREATE_COST ? createLargeLead(item, limits) : createSmallLead(item, limits)
  return {
    retrieveLead: (lead: RetrieveLead, limits: CallLimits) => retrieveLead(lead, limits),
    listPage: (page: LeadPage, limits: CallLimits) => listPage(page, limits),
    createLead,
    verifyToken: (hash: Uint8Array, limits: Pick<CallLimits, 'deadline' | 'isGone'>) =>
      verifyToken(hash, limits),
  }
}
