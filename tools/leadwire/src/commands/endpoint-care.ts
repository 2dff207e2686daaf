import { setTimeout as pause } from 'node:timers/promises'
import { EVENT_TYPES, type Replay } from '@leadwire/contracts'
import { parseDuration } from '@leadwire/service-kit'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { attemptOutput, deliveryOutput } from './deliveries'
import { endpointOutput, named } from './endpoints'
import { does, id, instant, list, theAccount } from './run'

const milliseconds = (text: string): number => {
  try {
    return parseDuration(text)
  } catch {
    throw new InvalidArgumentError('It must be a time such as 0s, 15m or 24h.')
  }
}

const replayOutput = ({ id, state, matched, enqueued, createdAt }: Replay) => ({
  ...{ id, state, matched, enqueued },
  created_at: createdAt,
})

/** As the API does: a small log is counted within 2 s, a test send attempted within 5. */
const COUNT_MS = 2000
const ATTEMPT_MS = 5000
const POLL_MS = 50

const sequence = (text: string): number => (text === '0' ? 0 : id(text))

const inUtc = (text: string | undefined) => text && new Date(text).toISOString()

interface ReplayOptions {
  account: number
  id: number
  afterSequence?: number
  untilSequence?: number
  from?: string
  to?: string
  types?: string[]
  state: string
  dryRun: boolean
}

/** `leadwire endpoints replay|show-replay|cancel-replay` */
const addReplays = (endpoints: Command): void => {
  does<ReplayOptions>(
    named(
      endpoints.command('replay').description('send it a range of the event log again, or what it never got'),
    )
      .option('--after-sequence <number>', 'events with higher numbers', sequence)
      .option('--until-sequence <number>', 'events up to this number', id)
      .option('--from <instant>', 'events created then or later, such as 2026-01-31T09:30:00Z', instant)
      .option('--to <instant>', 'events created before', instant)
      .option('--types <types>', 'these, subscribed or not; what it subscribes to when absent', list)
      .addOption(
        new Option('--state <state>', 'undelivered: also events without a delivery; all: also delivered ones')
          .choices(['undelivered', 'exhausted', 'all'])
          .default('undelivered'),
      )
      .option('--dry-run', 'only count', false),
    async ({ webhooks }, { account, id: endpointId, types, from, to, ...options }) => {
      const range = { from: inUtc(from), to: inUtc(to), types: types && { types } }
      const request = { ...options, ...range, accountId: account, endpointId }
      let { replay } = await webhooks.replayWebhookEndpoint(request)
      for (const until = Date.now() + COUNT_MS; replay!.counting && Date.now() < until; ) {
        await pause(POLL_MS)
        replay = (await webhooks.retrieveReplay({ accountId: account, endpointId, replayId: replay!.id }))
          .replay
      }
      return replayOutput(replay!)
    },
  )
  for (const [name, description, method] of [
    ['show-replay', 'how far a replay is', 'retrieveReplay'],
    ['cancel-replay', 'end a replay; what it enqueued is still sent', 'cancelReplay'],
  ] as const)
    does<{ account: number; id: number; replay: number }>(
      named(endpoints.command(name).description(description)).requiredOption(
        '--replay <id>',
        'the replay',
        id,
      ),
      async ({ webhooks }, { account: accountId, id: endpointId, replay: replayId }) =>
        replayOutput((await webhooks[method]({ accountId, endpointId, replayId })).replay!),
    )
}

/** `leadwire endpoints rotate-secret|test|recover|replay|show-replay|cancel-replay` */
export const addEndpointCare = (endpoints: Command): void => {
  does<{ account: number; id: number; overlap: number; secret?: string }>(
    named(endpoints.command('rotate-secret').description('give it a new secret, which is shown this once'))
      .addOption(
        new Option('--overlap <time>', 'how long the old one still signs: 0s, 15m, 24h … 30d')
          .argParser(milliseconds)
          .default(86_400_000, '24h'),
      )
      .option('--secret <secret>', 'the new secret, if the receiver chose one'),
    async ({ webhooks }, { account, id, overlap, secret }) => {
      const request = { accountId: account, endpointId: id, overlapMs: overlap, secret }
      const rotated = await webhooks.rotateWebhookSecret(request)
      const { secret: shown, oldSecretUntil } = rotated
      return { ...endpointOutput(rotated.endpoint!), secret: shown, old_secret_until: oldSecretUntil }
    },
  )

  does<{ account: number; id: number; type?: string; lead?: string }>(
    named(endpoints.command('test').description('send it a sample'))
      .addOption(
        new Option('--type <type>', 'of an event; the first that it subscribes to when absent').choices(
          EVENT_TYPES,
        ),
      )
      .option('--lead <reference>', 'a lead to try its filter on'),
    async (connection, { account: accountId, id: endpointId, type, lead: reference }) => {
      const { apiKey } = await theAccount(connection, accountId)
      const found =
        reference === undefined
          ? undefined
          : await connection.leads.retrieveLeadMatch({ accountId, reference })
      const request = { accountId, endpointId, accountKey: apiKey, type, match: found?.match }
      const until = Date.now() + ATTEMPT_MS
      const { delivery: sent, filter = null } = await connection.webhooks.testWebhookEndpoint(request)
      const retrieve = () => connection.webhooks.retrieveDelivery({ accountId, deliveryId: sent!.id })
      let { delivery, attempts } = await retrieve()
      while (delivery!.status === 'pending' && attempts.length === 0 && Date.now() < until) {
        await pause(POLL_MS)
        ;({ delivery, attempts } = await retrieve())
      }
      const [attempt] = attempts
      return { ...deliveryOutput(delivery!), reason: attempt ? attemptOutput(attempt).reason : null, filter }
    },
  )

  does<{ account: number; id: number; since: string; state: string }>(
    named(endpoints.command('recover').description('attempt its deliveries once more, ten a second'))
      .requiredOption(
        '--since <instant>',
        'of events created then or later, such as 2026-01-31T09:30:00Z',
        instant,
      )
      .addOption(
        new Option(
          '--state <state>',
          'undelivered: also those that wait for a retry; all: also delivered ones',
        )
          .choices(['undelivered', 'exhausted', 'all'])
          .default('exhausted'),
      ),
    async ({ webhooks }, { account, id, since, state }) => {
      const { recovered, recoveredCapped } = await webhooks.recoverWebhookEndpoint({
        accountId: account,
        endpointId: id,
        since,
        state,
      })
      return { recovered, recovered_capped: recoveredCapped }
    },
  )
  addReplays(endpoints)
}
