import { setTimeout as pause } from 'node:timers/promises'
import { EVENT_TYPES, type Replay } from '@leadwire/contracts'
import {
  listReplayErrors,
  RecoverWebhookEndpoint,
  ReplayWebhookEndpoint,
  RotateWebhookSecret,
  TestWebhookEndpoint,
  truncateInstant,
} from '@leadwire/requests'
import { parseDuration } from '@leadwire/service-kit'
import { type Command, Option } from 'commander'
import { checkFields } from './check-fields'
import { renderAttempt, renderDelivery } from './deliveries'
import { addIds, renderEndpoint } from './endpoints'
import { addAction, parseId, parseList, requireAccount } from './run'

const renderReplay = ({ id, state, matched, enqueued, createdAt }: Replay) => ({
  id,
  state,
  matched,
  enqueued,
  created_at: createdAt,
})

/**
 * How long the command waits until the events are counted, as in the API. A small log is counted within 2 s.
 */
const COUNT_MS = 2000
const POLL_MS = 50

const parseSequence = (text: string): number => (text === '0' ? 0 : parseId(text))

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

/** Adds `leadwire endpoints replay|show-replay|cancel-replay`. */
const addReplays = (endpoints: Command): void => {
  addAction<ReplayOptions>(
    addIds(endpoints.command('replay').description('send a range of the event log to an endpoint'))
      .option('--after-sequence <number>', 'only events with a higher sequence number', parseSequence)
      .option('--until-sequence <number>', 'only events up to this sequence number', parseId)
      .option(
        '--from <instant>',
        'only events created at or after this instant, such as 2026-01-31T09:30:00Z',
      )
      .option('--to <instant>', 'only events created before this instant')
      .option(
        '--types <types>',
        'only these event types (default: those that the endpoint subscribes to)',
        parseList,
      )
      .addOption(
        new Option(
          '--state <state>',
          'undelivered: events without a delivery, or whose delivery is exhausted or waits for a retry; exhausted: only events whose delivery is exhausted; all: undelivered and delivered events',
        )
          .choices(['undelivered', 'exhausted', 'all'])
          .default('undelivered'),
      )
      .option('--dry-run', 'only count the events', false),
    async ({ webhooks }, { account, id: endpointId, ...options }) => {
      const fields = checkFields(
        ReplayWebhookEndpoint,
        {
          after_sequence: options.afterSequence,
          until_sequence: options.untilSequence,
          from: options.from,
          to: options.to,
          types: options.types,
          state: options.state,
          dry_run: options.dryRun,
        },
        listReplayErrors,
      )
      const { from, to, types } = fields
      const request = {
        accountId: account,
        endpointId,
        afterSequence: fields.after_sequence,
        untilSequence: fields.until_sequence,
        from: from && truncateInstant(from),
        to: to && truncateInstant(to),
        types: types && { types },
        state: fields.state,
        dryRun: fields.dry_run!,
      }
      const started = await webhooks.replayWebhookEndpoint(request)
      let replay = started.replay!
      const until = Date.now() + COUNT_MS
      while (replay.counting && Date.now() < until) {
        await pause(POLL_MS)
        const found = await webhooks.retrieveReplay({ accountId: account, endpointId, replayId: replay.id })
        replay = found.replay!
      }
      return renderReplay(replay)
    },
  )
  for (const [name, description, method] of [
    ['show-replay', 'show the progress of a replay', 'retrieveReplay'],
    ['cancel-replay', 'cancel a replay; events that it has enqueued are still sent', 'cancelReplay'],
  ] as const)
    addAction<{ account: number; id: number; replay: number }>(
      addIds(endpoints.command(name).description(description)).requiredOption(
        '--replay <id>',
        'the replay',
        parseId,
      ),
      async ({ webhooks }, { account: accountId, id: endpointId, replay: replayId }) =>
        renderReplay((await webhooks[method]({ accountId, endpointId, replayId })).replay!),
    )
}

/** Adds `leadwire endpoints rotate-secret|test|recover|replay|show-replay|cancel-replay`. */
export const addEndpointCare = (endpoints: Command): void => {
  addAction<{ account: number; id: number; overlap: string; secret?: string }>(
    addIds(endpoints.command('rotate-secret').description('set a new secret, which is shown only once'))
      .addOption(
        new Option('--overlap <time>', 'how long the old secret stays valid: 0s, 15m, 24h … 30d').default(
          '24h',
          '24h',
        ),
      )
      .option('--secret <secret>', 'the new secret (default: a generated one)'),
    async ({ webhooks }, { account, id, ...options }) => {
      const { overlap, secret } = checkFields(RotateWebhookSecret, options)
      const request = { accountId: account, endpointId: id, overlapMs: parseDuration(overlap!), secret }
      const rotated = await webhooks.rotateWebhookSecret(request)
      const { secret: shown, oldSecretUntil } = rotated
      return { ...renderEndpoint(rotated.endpoint!), secret: shown, old_secret_until: oldSecretUntil }
    },
  )

  addAction<{ account: number; id: number; type?: string; lead?: string }>(
    addIds(endpoints.command('test').description('send a sample to an endpoint'))
      .addOption(
        new Option(
          '--type <type>',
          'the event type (default: the first that the endpoint subscribes to)',
        ).choices(EVENT_TYPES),
      )
      .option('--lead <reference>', 'also show whether this lead matches the filter'),
    async (connection, { account: accountId, id: endpointId, ...options }) => {
      const fields = { type: options.type, lead_reference: options.lead }
      const { type, lead_reference: reference } = checkFields(TestWebhookEndpoint, fields)
      const { apiKey } = await requireAccount(connection, accountId)
      const found =
        reference === undefined
          ? undefined
          : await connection.leads.retrieveLeadMatch({ accountId, reference })
      const request = { accountId, endpointId, accountKey: apiKey, type, match: found?.match }
      const { delivery, attempt, filter = null } = await connection.webhooks.testWebhookEndpoint(request)
      return { ...renderDelivery(delivery!), reason: attempt ? renderAttempt(attempt).reason : null, filter }
    },
  )

  addAction<{ account: number; id: number; since: string; state: string }>(
    addIds(
      endpoints.command('recover').description('make one more attempt of existing deliveries, ten a second'),
    )
      .requiredOption(
        '--since <instant>',
        'only events created at or after this instant, such as 2026-01-31T09:30:00Z',
      )
      .addOption(
        new Option(
          '--state <state>',
          'exhausted: deliveries without retries left; undelivered: exhausted deliveries, and deliveries that wait for a retry; all: undelivered and delivered deliveries',
        )
          .choices(['undelivered', 'exhausted', 'all'])
          .default('exhausted'),
      ),
    async ({ webhooks }, { account, id, ...options }) => {
      const { since, state } = checkFields(RecoverWebhookEndpoint, options)
      const { recovered, recoveredCapped } = await webhooks.recoverWebhookEndpoint({
        accountId: account,
        endpointId: id,
        since: truncateInstant(since),
        state,
      })
      return { recovered, recovered_capped: recoveredCapped }
    },
  )
  addReplays(endpoints)
}
