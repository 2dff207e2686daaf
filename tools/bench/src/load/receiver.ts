import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveParent } from '../process/serve-parent'
import { wallClock } from './jobs'

// What tells one webhook from another: a lead's reference, or the time it was due.
const KEY = /"(?:reference|due)":"?([^",}]+)/

let arrivals: { keys: string[]; at: number[] } = { keys: [], at: [] }
let withKeys = true
let hanging = false

const receive: RequestListener = (request, response) => {
  const at = wallClock()
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (hanging && request.url?.startsWith('/hang')) return
    arrivals.at.push(at)
    if (withKeys)
      arrivals.keys.push(`${request.url} ${KEY.exec(Buffer.concat(chunks).toString('utf8'))?.[1] ?? ''}`)
    response.writeHead(200, { 'content-length': '2' }).end('ok')
  })
}

const listen = (server: Server, port: number) =>
  new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })

const main = createServer(receive)
let second = createServer(receive)

async function start(): Promise<void> {
  main.keepAliveTimeout = 60_000
  const [port, secondPort] = await Promise.all([listen(main, 0), listen(second, 0)])
  serveParent(
    { port, secondPort },
    {
      count: () => arrivals.at.length,
      take: () => {
        const taken = arrivals
        arrivals = { keys: [], at: [] }
        return taken
      },
      keepKeys: (keep: boolean) => {
        withKeys = keep
      },
      /** What was sent under /hang and is not answered yet is dropped when hanging ends. */
      hang: (on: boolean) => {
        hanging = on
        if (!on) main.closeAllConnections()
      },
      refuse: async (on: boolean) => {
        if (on) {
          second.close()
          second.closeAllConnections()
        } else {
          second = createServer(receive)
          await listen(second, secondPort)
        }
      },
    },
  )
}

void start()
