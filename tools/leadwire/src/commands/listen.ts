import { randomBytes } from 'node:crypto'
import type { components, Leadwire } from '@leadwire/client'
import { type Command, InvalidArgumentError } from 'commander'
import { connectApi } from '../api'
import { type Api, findApi, isWebUrl } from '../connection'
import { addEndpoint, removeEndpoint, removeLeftBehind } from '../listen/endpoint'
import { type HandleArrival, handleArrivals } from '../listen/handle-arrivals'
import { startReceiver } from '../listen/receive'
import { fetchDelivery } from '../listen/replay'
import { addApiOptions, explain, id, list } from './run'

type Event = components['schemas']['Delivery']['event']

interface Options extends Partial<Api> {
  to?: URL
  events?: Event[]
  secret?: string
  port: number
  publicUrl?: URL
  replay?: number
}

const webUrl = (text: string): URL => {
  if (!isWebUrl(text))
    throw new InvalidArgumentError('It must be an http or https address without credentials.')
  return new URL(text)
}

const port = (text: string): number => {
  const number = Number(text)
  if (!/^\d+$/.test(text) || number > 65_535)
    throw new InvalidArgumentError('It must be a port, 0 for a free one.')
  return number
}

const print = (text: string) => void process.stdout.write(`${text}\n`)

/**
 * Ctrl-C, an end asked for, a terminal that was closed, or a reader of the output that closed it. Never stops listening
 * for them: under npm a Ctrl-C comes twice, from the terminal and from npm, and the second must not cut the clearing up.
 */
const untilStopped = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
    process.stdout.on('error', () => resolve())
  })

/** `leadwire listen`: a receiver on this machine, registered for as long as it runs. */
export const addListen = (program: Command): void => {
  addApiOptions(program.command('listen'))
    .description('receive webhooks on this machine, verify and print them; Ctrl-C takes the address back')
    .option('--forward, --to <url>', 'pass everything on, byte for byte, and answer as that does', webUrl)
    .option('--events <types>', 'such as lead.created,lead.updated; lead.created when absent', list)
    .option('--secret <secret>', 'what signs; a new one, which is printed, when absent')
    .option('--port <number>', 'where to listen on 127.0.0.1; a free port when 0', port, 0)
    .option('--public-url <url>', 'the address that leads to --port from outside, such as a tunnel', webUrl)
    .option('--replay <delivery>', 'print and forward what was sent for a delivery, and end', id)
    .action(listen)
}

const listen = async (options: Options): Promise<void> => {
  const api = findApi(process.env, options)
  // Chosen here and not by the service: a lead may arrive before the answer that would tell it.
  const secret = options.secret ?? `whsec_${randomBytes(24).toString('base64')}`
  const handle = handleArrivals({ secret, forwardTo: options.to, print })
  const announce = () => options.secret === undefined && print(`secret ${secret}`)
  const run = { ...options, secret, announce, handle, leadwire: connectApi(api) }
  if (options.replay !== undefined) return replay(options.replay, run)
  requireAddress(api, options)
  await receive(run)
}

interface Run extends Options {
  secret: string
  /** Prints the secret, if it was made here. */
  announce(): void
  handle: HandleArrival
  leadwire: Leadwire
}

/** Only a Leadwire on this machine reaches 127.0.0.1. */
const requireAddress = ({ url }: Api, options: Options): void => {
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(new URL(url).hostname)
  if (!isHere && !options.publicUrl)
    throw new Error(
      `${url} can't reach this machine: give --public-url, an address that leads to --port here, such as a tunnel's.`,
    )
  if (options.publicUrl && options.port === 0)
    throw new Error('Give --port too: where --public-url leads to on this machine.')
}

const receive = async ({
  leadwire,
  handle,
  announce,
  port,
  publicUrl,
  secret,
  events,
}: Run): Promise<void> => {
  const stopped = untilStopped()
  const receiver = await startReceiver(port, handle)
  try {
    const url = publicUrl?.href ?? receiver.url
    await removeLeftBehind(leadwire, url, print)
    const endpointId = await addEndpoint(leadwire, { url, secret, ...(events && { events }) })
    announce()
    print(
      `listening on ${receiver.url} as endpoint ${endpointId}${publicUrl ? ` (${url})` : ''}; Ctrl-C removes it`,
    )
    await stopped
    await removeEndpoint(leadwire, endpointId).catch((error: unknown) => {
      throw new Error(
        `endpoint ${endpointId} is still there (${explain(error)}); the next leadwire listen removes it`,
      )
    })
    print(`endpoint ${endpointId} removed`)
  } finally {
    await receiver.stop()
  }
}

const replay = async (delivery: number, { leadwire, secret, announce, handle }: Run): Promise<void> => {
  const arrival = await fetchDelivery(leadwire, delivery, secret)
  announce()
  const { status } = await handle(arrival, new AbortController().signal)
  if (status < 200 || status > 299) process.exitCode = 1
}
