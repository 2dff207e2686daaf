import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, isIPv6 } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { fromGlobalSetup } from './environment'

export type ReceivedRequest = {
  method: string
  url: string
  headers: IncomingHttpHeaders
  /** The headers as they were sent: name, value, name, value … */
  rawHeaders: string[]
  /** The bytes, unparsed. */
  body: Buffer
  arrivedAt: Date
}

/**
 * How the receiver responds to a request. `hang` never responds. `close` cuts the connection without a
 * response.
 */
export type Answer =
  | {
      status: number
      headers?: Record<string, string>
      body?: string | Buffer
      delayMs?: number
      /** The response is sent only after this promise has resolved. */
      after?: Promise<unknown>
    }
  | 'hang'
  | 'close'

export type Receiver = {
  /** The receiver's URL, with a path as in the URL of a real endpoint. */
  url: string
  port: number
  /** Everything received so far, oldest first. */
  requests: ReceivedRequest[]
  /**
   * Sets the response to each further request. A function is called with the request and with the number of
   * recorded requests before it.
   */
  answerWith(answer: Answer | ((request: ReceivedRequest, index: number) => Answer)): void
  clear(): void
  stop(): Promise<void>
}

/**
 * Starts a real HTTP server that records its requests. It responds with 200 until `answerWith` is called. By
 * default it has a port that no other server gets during the run.
 */
export async function startReceiver({
  host = '127.0.0.1',
  port,
}: {
  host?: string
  port?: number
} = {}): Promise<Receiver> {
  const requests: ReceivedRequest[] = []
  const timers = new Set<NodeJS.Timeout>()
  let choose: (request: ReceivedRequest, index: number) => Answer = () => ({ status: 200 })

  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const arrivedAt = new Date()
    const body = await buffer(incoming)
    const { method = '', url = '', headers, rawHeaders } = incoming
    const request = { method, url, headers, rawHeaders, body, arrivedAt }
    const index = requests.push(request) - 1
    const answer = choose(request, index)
    if (answer === 'hang') return
    if (answer === 'close') return void incoming.socket.destroy()
    await answer.after
    const timer = setTimeout(() => {
      timers.delete(timer)
      response.writeHead(answer.status, answer.headers).end(answer.body)
    }, answer.delayMs ?? 0)
    timers.add(timer)
  }

  const server = createServer((incoming, response) => {
    // Does not record a request whose sender disconnected before the end.
    handle(incoming, response).catch(() => response.destroy())
  })
  const chosen = port ?? (await reservePort(host))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(chosen, host, resolve)
  })
  const actual = (server.address() as AddressInfo).port
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${actual}/hooks/leads`,
    port: actual,
    requests,
    answerWith: (answer) => {
      choose = typeof answer === 'function' ? answer : () => answer
    },
    clear: () => void requests.splice(0),
    stop: () => {
      for (const timer of timers) clearTimeout(timer)
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/**
 * Reserves a port until the end of the run (global-setup.cjs). A shared system repeats failed deliveries long
 * after the receiver has stopped. Another server that got the port would receive these deliveries.
 */
async function reservePort(host: string): Promise<number> {
  const query = new URLSearchParams({ host })
  const answer = await fetch(`${fromGlobalSetup('LEADWIRE_TEST_SYSTEM')}/port?${query}`)
  if (!answer.ok) throw new Error(await answer.text())
  return Number(await answer.text())
}
