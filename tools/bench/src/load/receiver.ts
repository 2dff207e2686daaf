// `startReceiver` runs this program.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readWallClock } from '../measure/statistics'
import { reportReady } from '../process/report-ready'
import type { Arrivals } from './start-receiver'

// Each webhook is identified by the reference of its lead, which is near the start of the body.
const REFERENCE = /"reference":"([^"]+)"/
const HEAD_BYTES = 200

const arrivals: Arrivals = []
let broken = false

const receive: RequestListener = (request, response) => {
  const at = readWallClock()
  let head: Buffer | undefined
  request.on('data', (chunk: Buffer) => {
    head ??= chunk
  })
  request.on('end', () => {
    if (broken && request.url?.startsWith('/hang')) return
    const reference = REFERENCE.exec(head?.toString('latin1', 0, HEAD_BYTES) ?? '')?.[1] ?? ''
    arrivals.push([reference, at])
    response.writeHead(200, { 'content-length': '2' }).end('ok')
  })
}

const listen = (server: Server, port = 0) =>
  new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })

const start = async () => {
  const main = createServer({ keepAliveTimeout: 60_000 }, receive)
  let refusing = createServer(receive)
  const port = await listen(main)
  const refusingPort = await listen(refusing)
  const setBroken = async (on: boolean) => {
    if (on === broken) return
    broken = on
    if (on) {
      refusing.close()
      refusing.closeAllConnections()
      return
    }
    // Closes all connections. Requests that hang would never get a response, so their attempts would
    // otherwise last until the timeout.
    main.closeAllConnections()
    refusing = createServer(receive)
    await listen(refusing, refusingPort)
  }
  const control = createServer(async (request, response) => {
    if (request.url === '/break') await setBroken(true)
    if (request.url === '/mend') await setBroken(false)
    if (request.url === '/count') return response.end(String(arrivals.length))
    const taken = request.url === '/take' ? arrivals.splice(0) : []
    response.end(JSON.stringify(taken))
  })
  reportReady({ port, refusingPort, controlPort: await listen(control) })
}

void start()
