import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { wallClock } from '../measure/statistics'
import { serving } from '../process/serving'
import type { Arrivals } from './start-receiver'

// A webhook is known by its lead, which stands near the start of its body.
const REFERENCE = /"reference":"([^"]+)"/
const HEAD_BYTES = 200

const arrivals: Arrivals = []
let broken = false

const receive: RequestListener = (request, response) => {
  const at = wallClock()
  let head: Buffer | undefined
  request.on('data', (chunk: Buffer) => {
    head ??= chunk
  })
  request.on('end', () => {
    if (broken && request.url?.startsWith('/hang')) return
    arrivals.push([REFERENCE.exec(head?.toString('latin1', 0, HEAD_BYTES) ?? '')?.[1] ?? '', at])
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
  const [port, refusingPort] = [await listen(main), await listen(refusing)]
  const setBroken = async (on: boolean) => {
    if (on === broken) return
    broken = on
    if (on) {
      refusing.close()
      refusing.closeAllConnections()
      return
    }
    // What hangs is not answered any more.
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
  serving({ port, refusingPort, controlPort: await listen(control) })
}

void start()
