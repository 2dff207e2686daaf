import { randomBytes } from 'node:crypto'
import { type Leadwire, LeadwireProblem } from '@leadwire/client'
import { type Command, InvalidArgumentError } from 'commander'
import { connectApi } from '../api'
import { type Api, findApi, isWebUrl } from '../connection'
import { arrivalOf, fetchDelivery } from '../listen/arrivals'
import { type HandlerOptions, handleArrival } from '../listen/handle-arrival'
import { readEvents } from '../listen/read-events'
import { addApiOptions, explain, id, list } from './run'

interface Options extends Partial<Api> {
  to?: URL
  events?: string[]
  secret?: string
  from?: number
  replay?: number
}

const webUrl = (text: string): URL => {
  if (!isWebUrl(text))
    throw new InvalidArgumentError('It must be an http or https address without credentials.')
  return new URL(text)
}

const ownSecret = (text: string): string => {
  if (Buffer.byteLength(text) < 16) throw new InvalidArgumentError('It must have at least 16 bytes.')
  return text
}

const HELP = `
Reads the log of events (GET /manage/events): needs no public address, and leaves no endpoint behind. Goes on through
lost connections and restarts. The token needs the scope events:read or manage; X-SERVICE-Account-Key needs manage.

A forward has 30 seconds. One that fails is shown and not retried: the next event follows. To send it again, start with
--from and its webhook-sequence.`

/** Above what a poll of the log takes. */
const TIMEOUT_MS = 40_000

const print = (text: string) => void process.stdout.write(`${text}\n`)

/** `leadwire listen` */
export const addListen = (program: Command): void => {
  addApiOptions(program.command('listen'))
    .description('print events as the webhooks that they are, verified, and pass them on to a program here')
    .option('--forward, --to <url>', 'post each webhook to this address', webUrl)
    .option('--events <types>', 'only these, such as lead.created,lead.updated', list)
    .option('--secret <secret>', 'what signs; a new one, which is printed, when absent', ownSecret)
    .option('--from <sequence>', 'begin with this event; with what comes from now on when absent', id)
    .option('--replay <delivery>', 'print and forward what was sent for a delivery, and end', id)
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

/** Undefined for a token that may not see it. */
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
  const begun = () => {
    announce()
    print(`listening from ${from === undefined ? 'now' : `sequence ${from}`} on; Ctrl-C ends it`)
  }
  const report = (line: string, error?: unknown) => print(error ? `${line}: ${explain(error)}` : line)
  for await (const event of readEvents(leadwire, { from, types, report, begun })) {
    const arrival = arrivalOf(event, { secret: handler.secret, accountKey })
    if (arrival) await handleArrival(arrival, handler)
    else
      print(
        `\n${event.type}  lead ${event.lead_reference}  sequence ${event.sequence}  erased, not forwarded`,
      )
  }
}
