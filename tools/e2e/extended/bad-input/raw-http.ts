import { connect, type Socket } from 'node:net'

/**
 * An HTTP response. The names of `headers` are in lower case. If a header is repeated, `headers` has its last
 * value.
 */
export type Answer = { status: number; headers: Record<string, string>; text: string }

export type Exchange = {
  /** The final responses in their order, without 1xx. */
  answers: Answer[]
  /** The statuses of the 1xx responses. */
  informational: number[]
  /** Whether the server closed the connection. */
  closed: boolean
}

type Options = {
  /** The number of responses to wait for. The wait also ends when the server closes the connection. */
  count?: number
  /** Whether the request is a HEAD, whose response has no body. */
  head?: boolean
  timeoutMs?: number
}

/** A piece to write: text in Latin-1 (one byte for each character), bytes, or a pause in milliseconds. */
export type Piece = string | Buffer | number

/** Writes bytes to the server and reads its responses. After `timeoutMs`, returns what has arrived. */
export const exchange = async (
  baseUrl: string,
  pieces: Piece | Piece[],
  options: Options = {},
): Promise<Exchange> => {
  const { count = 1, head = false, timeoutMs = 60_000 } = options
  const socket = await open(baseUrl)
  const received: Buffer[] = []
  let closed = false
  const done = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeoutMs)
    const finish = () => {
      clearTimeout(timer)
      resolve()
    }
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk)
      const { answers } = parse(Buffer.concat(received), head)
      // After `Connection: close`, waits until the server closes the connection.
      if (answers.length >= count && answers.at(-1)?.headers['connection'] !== 'close') finish()
    })
    socket.on('close', () => {
      closed = true
      finish()
    })
    // Ignores errors, because the server may close the connection while the client still writes. Responses
    // that arrived before the error are returned.
    socket.on('error', () => undefined)
  })
  void write(socket, [pieces].flat())
  await done
  socket.destroy()
  return { ...parse(Buffer.concat(received), head), closed }
}

/** Writes bytes and resets the connection once `when` resolves. */
export const abandon = async (
  baseUrl: string,
  pieces: Piece | Piece[],
  when: () => Promise<unknown>,
): Promise<void> => {
  const socket = await open(baseUrl)
  socket.on('error', () => undefined)
  socket.resume()
  await write(socket, [pieces].flat())
  await when()
  socket.resetAndDestroy()
}

const open = async (baseUrl: string): Promise<Socket> => {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  return socket
}

const write = async (socket: Socket, pieces: Piece[]): Promise<void> => {
  for (const piece of pieces) {
    if (socket.destroyed) return
    if (typeof piece === 'number') await new Promise((resolve) => setTimeout(resolve, piece))
    else
      await new Promise<unknown>((resolve) =>
        socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece, resolve),
      )
  }
}

const parse = (bytes: Buffer, head: boolean): Pick<Exchange, 'answers' | 'informational'> => {
  const answers: Answer[] = []
  const informational: number[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n\r\n', at)
    if (end === -1) break
    const [line = '', ...fields] = bytes.toString('latin1', at, end).split('\r\n')
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1])
    if (!status) throw new Error(`not an HTTP response: ${JSON.stringify(line)}`)
    const headers = Object.fromEntries(
      fields.map((field) => {
        const colon = field.indexOf(':')
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
      }),
    )
    const body = status < 200 || head ? { text: '', next: end + 4 } : bodyFrom(bytes, end + 4, headers)
    if (!body) break
    at = body.next
    if (status < 200) informational.push(status)
    else answers.push({ status, headers, text: body.text })
  }
  return { answers, informational }
}

const bodyFrom = (bytes: Buffer, from: number, headers: Record<string, string>) => {
  if (headers['transfer-encoding'] === 'chunked') {
    const end = bytes.indexOf('\r\n0\r\n\r\n', from - 2)
    if (end === -1) return undefined
    return { text: unchunk(bytes.subarray(from, end + 2)), next: end + 7 }
  }
  const next = from + Number(headers['content-length'] ?? 0)
  return next > bytes.length ? undefined : { text: bytes.toString('utf8', from, next), next }
}

const unchunk = (bytes: Buffer): string => {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    chunks.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
  return Buffer.concat(chunks).toString('utf8')
}
