import { randomBytes } from 'node:crypto'
import { connect as connectTo } from 'node:net'
import type { CreateWebhookEndpointRequest } from '@leadwire/contracts'
import { type Command, InvalidArgumentError } from 'commander'
import { type Connection, connect, demoAccount, findTargets } from '../connection'
import { startListener } from '../listen/start-listener'
import { explain, id, theAccount } from './run'

interface Options {
  account?: number
  forward?: URL
  port: number
}

const forwardUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw new InvalidArgumentError('It must be an http or https address without credentials.')
  return url
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

const DESCRIPTION = 'leadwire listen'

/** Whether the port of an endpoint is open: that of a `listen` that was killed is not. */
const isOpen = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectTo(Number(new URL(url).port), '127.0.0.1', () => socket.destroy())
    socket.once('close', (failed) => resolve(!failed)).on('error', () => undefined)
  })

/** Removes the endpoints that `listen` leaves when it is killed, and names those that may be in use. */
const removeLeftBehind = async ({ webhooks }: Connection, accountId: number): Promise<void> => {
  const { endpoints } = await webhooks.listWebhookEndpoints({ accountId })
  for (const { id: endpointId, url, description } of endpoints) {
    if (description !== DESCRIPTION || !/^http:\/\/127\.0\.0\.1:\d+\/$/.test(url)) continue
    if (await isOpen(url)) {
      print(`endpoint ${endpointId} stays: something listens on ${url}`)
    } else {
      await webhooks.deleteWebhookEndpoint({ accountId, endpointId })
      print(`endpoint ${endpointId} removed: nothing listens on ${url}`)
    }
  }
}

const whileRegistered = async (
  { webhooks }: Connection,
  request: CreateWebhookEndpointRequest,
  stopped: Promise<void>,
): Promise<void> => {
  const { accountId, url } = request
  const endpointId = (await webhooks.createWebhookEndpoint(request)).endpoint!.id
  print(`listening on ${url} as endpoint ${endpointId} of account ${accountId}; Ctrl-C removes it`)
  await stopped
  await webhooks.deleteWebhookEndpoint({ accountId, endpointId }).catch((error: unknown) => {
    const command = `leadwire endpoints delete --account ${accountId} --id ${endpointId}`
    throw new Error(`endpoint ${endpointId} is still there (${explain(error)}); remove it: ${command}`)
  })
  print(`endpoint ${endpointId} removed`)
}

/** `leadwire listen`: a receiver on this machine, registered for as long as it runs. */
export const addListen = (program: Command): void => {
  program
    .command('listen')
    .description('receive webhooks on this machine, verify and print them; Ctrl-C takes the address back')
    .option('--forward <url>', 'pass everything on, byte for byte, and answer as that does', forwardUrl)
    .option('--port <number>', 'where to listen on 127.0.0.1; a free port when 0', port, 0)
    .option('--account <id>', 'the account; the demo account of npm start when absent', id)
    .action(listen)
}

const listen = async ({ account, forward, port }: Options): Promise<void> => {
  const stopped = untilStopped()
  const targets = findTargets(process.env)
  const accountId = account ?? demoAccount(process.env)
  // Chosen here and not by the service: a lead may arrive before the answer that would tell it.
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  const connection = connect(targets)
  try {
    await theAccount(connection, accountId)
    await removeLeftBehind(connection, accountId)
    const listener = await startListener({ secret, port, forwardTo: forward, print })
    const request = { accountId, url: listener.url, description: DESCRIPTION, enabled: true, secret }
    await whileRegistered(connection, request, stopped).finally(listener.stop)
  } finally {
    await connection.close()
  }
}
