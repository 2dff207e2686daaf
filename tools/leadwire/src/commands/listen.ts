import { randomBytes } from 'node:crypto'
import { type Leadwire, LeadwireProblem } from '@leadwire/client'
import { isWebUrl } from '@leadwire/contracts'
import { type Command, InvalidArgumentError } from 'commander'
import { connectApi } from '../api'
import { type Api, findApi } from '../connection'
import { buildArrival, fetchDelivery } from '../listen/arrivals'
import { type HandlerOptions, handleArrival } from '../listen/handle-arrival'
import { readEvents } from '../listen/read-events'
import { addApiOptions, explain, parseId, parseList } from './run'

interface Options extends Partial<Api> {
  to?: URL
  events?: string[]
  secret?: string
  from?: number
  replay?: number
}

const parseUrl = (text: string): URL => {
  if (!isWebUrl(text))
    throw new InvalidArgumentError('It must be an http or https address without credentials.')
  return new URL(text)
}

const checkSecret = (text: string): string => {
  if (Buffer.byteLength(text) < 16) throw new InvalidArgumentError('It must have at least 16 bytes.')
  return text
}

/** Parses event types. Refuses an empty list, because the API would read it as all types. */
const parseTypes = (text: string): string[] => {
  const types = parseList(text)
  if (types.includes(''))
    throw new InvalidArgumentError('It must be a list of event types such as lead.created,lead.updated.')
  return types
}

const HELP = `
Reads the event log (GET /manage/events), so it needs neither a public address nor an endpoint. Continues after lost
connections and restarts. The token needs the scope events:read or manage. X-SERVICE-Account-Key is sent only with manage.

Forwarding times out after 30 seconds. A failed forward is printed and not retried. To forward an event again, start with
--from and its webhook-sequence.`

/** The timeout of a request. It is longer than a long poll of the event log. */
const TIMEOUT_MS = 40_000

const print = (text: string) => void process.stdout.write(`${text}\n`)

/** Adds `leadwire listen`. */
export const addListen = (program: Command): void => {
  addApiOptions(program.command('listen'))
    .description('verify and print events as webhooks, and forward them to a program on this machine')
    .option('--forward, --to <url>', 'post each webhook to this address', parseUrl)
    .option('--events <types>', 'only these event types, such as lead.created,lead.updated', parseTypes)
    .option(
      '--secret <secret>',
      'the secret for signatures (default: a new one, which is printed)',
      checkSecret,
    )
    .option('--from <sequence>', 'start with this event (default: only new events)', parseId)
    .option('--replay <delivery>', 'print and forward the webhook of this delivery, and exit', parseId)
    .addHelpText('after', HELP)
    .action(listen)
}

const listen = async ({ to: forwardTo, secret, ...options }: Options): Promise<void> => {
  const leadwire = connectApi(findApi(process.env, options), TIMEOUT_MS)
  const handler = { secret: secret ?? `whsec_${randomBytes(24).toString('base64')}`, forwardTo, print }
  const announce = () => secret === undefined && print(`secret ${handler.secret}`)
  if (options.replay === undefined) return follow(leadwire, handler, announce, options)
  const arrival = await fetchDelivery(leadwire, options.replay, handler.secret)
  announce()
  if (!(await handleArrival(arrival, handler))) process.exitCode = 1
}

/** Fetches the account's API key. Returns undefined if the token may not read it. */
const fetchAccountKey = async ({ api }: Leadwire): Promise<string | undefined> => {
  try {
    return (await api.GET('/manage/account')).data!.data.api_key
  } catch (error) {
    if (error instanceof LeadwireProblem && error.kind === 'forbidden') return undefined
    throw error
  }
}

const follow = async (
  leadwire: Leadwire,
  handler: HandlerOptions,
  announce: () => void,
  { from, events: types }: Options,
): Promise<void> => {
  process.stdout.on('error', () => process.exit())
  const accountKey = await fetchAccountKey(leadwire)
  const onBegin = () => {
    announce()
    print(`listening from ${from === undefined ? 'now' : `sequence ${from}`}; press Ctrl-C to stop`)
  }
  const report = (line: string, error?: unknown) => print(error ? `${line}: ${explain(error)}` : line)
  for await (const event of readEvents(leadwire, { from, types, report, onBegin })) {
    const arrival = buildArrival(event, { secret: handler.secret, accountKey })
    if (arrival) {
      await handleArrival(arrival, handler)
    } else {
      const { type, lead_reference: reference, sequence } = event
      print(`\n${type}  lead ${reference}  sequence ${sequence}  erased, not forwarded`)
    }
  }
}
