import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import ipaddr from 'ipaddr.js'

export type QueryType = 'A' | 'AAAA' | 'NS'

/** The reply of a name server: addresses, an error or nothing. No addresses means NOERROR without records. */
export type Reply = string[] | 'NXDOMAIN' | 'SERVFAIL' | 'dropped'

const TYPES: Record<number, QueryType> = { 1: 'A', 28: 'AAAA', 2: 'NS' }
const RESPONSE_CODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 }
const HEADER_BYTES = 12

/** Reads the question of a query (RFC 1035, 4.1.2). */
const readQuestion = (query: Buffer) => {
  const labels: string[] = []
  let at = HEADER_BYTES
  while (query[at] !== 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!))
    at += 1 + query[at]!
  }
  const bytes = query.subarray(HEADER_BYTES, at + 5)
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), bytes }
}

const writeRecord = (type: number, address: string, ttl: number): Buffer => {
  const data = Buffer.from(ipaddr.parse(address).toByteArray())
  const head = Buffer.alloc(12)
  // A pointer to the name in the question.
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

/** Starts a name server on loopback. It responds to each query with the result of `replyTo`. */
export const startNameServer = async (
  replyTo: (name: string, type: QueryType) => Reply | Promise<Reply>,
  ttl = 60,
) => {
  const queries: string[] = []
  const replies = new Map<string, Reply | Promise<Reply>>()
  const socket = createSocket('udp4')
  socket.on('message', async (query, { address, port }) => {
    const question = readQuestion(query)
    const type = TYPES[question.type]!
    // A resolver repeats a query with the same id if it has to wait too long for the response.
    const key = `${query.readUInt16BE(0)} ${type} ${question.name}`
    if (!replies.has(key)) {
      queries.push(`${type} ${question.name}`)
      replies.set(key, replyTo(question.name, type))
    }
    const reply = await replies.get(key)!
    if (reply === 'dropped') return
    const records = Array.isArray(reply) ? reply : []
    const head = Buffer.alloc(HEADER_BYTES)
    head.writeUInt16BE(query.readUInt16BE(0), 0)
    head.writeUInt16BE(0x8180 | RESPONSE_CODES[Array.isArray(reply) ? 'NOERROR' : reply], 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    const answers = records.map((record) => writeRecord(question.type, record, ttl))
    socket.send(Buffer.concat([head, question.bytes, ...answers]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    servers: [`127.0.0.1:${socket.address().port}`],
    /** The type and name of each query, in the order of arrival. A repeated query counts once. */
    queries,
    stop: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}
