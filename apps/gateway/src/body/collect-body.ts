import type { IncomingMessage } from 'node:http'
import { ServiceError } from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Admission, PUBLIC_BODY_BYTES } from '../admission/admission'
import { ProblemError } from '../http/problem'

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE
/** Enough for a file of 10 MiB and all other fields of a form. */
const MAX_FORM_BYTES = 11 * MEBIBYTE

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The maximum size of a multipart body, in bytes. The default is MAX_FORM_BYTES. */
    maxFormBytes?: number
  }
}

export const isMultipart = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  /^multipart\//i.test(headers['content-type'] ?? '')

/** Returns the maximum size of a request's body, in bytes. */
export const findBodyLimit = (request: FastifyRequest): number => {
  const { principal, routeOptions } = request
  if (isMultipart(request)) return routeOptions.config.maxFormBytes ?? MAX_FORM_BYTES
  return principal?.isPublishable ? PUBLIC_BODY_BYTES : routeOptions.bodyLimit!
}

export const bodyTooLarge = (maxBytes: number): ProblemError => {
  const size = maxBytes < MEBIBYTE ? `${maxBytes / KIBIBYTE} KiB` : `${maxBytes / MEBIBYTE} MiB`
  return new ProblemError('too-large', `The body may not be larger than ${size}.`)
}

const MIN_BYTES_PER_SECOND = 1024

/** The grace period at the start of a body, in which the gateway does not check the speed of the body. */
export const GRACE_MS = 5000

export const TOO_SLOW = 'The body arrived slower than 1 KiB a second. Send it again over a faster connection.'

/**
 * Watches the speed of a body. After the first `graceMs`, the client must have sent at least 1 KiB for each
 * further second, or else this function calls `end`. The bytes of the first `graceMs` count, too. The time in
 * which the gateway itself has paused the body does not count. Returns the function that stops the watch.
 */
export const watchSpeed = (request: IncomingMessage, graceMs: number, end: () => void): (() => void) => {
  const { socket } = request
  const begun = socket.bytesRead - request.readableLength
  const everyMs = graceMs / 5
  let waitedMs = 0
  const timer = setInterval(() => {
    if (request.complete || request.isPaused()) return
    waitedMs += everyMs
    const neededBytes = ((waitedMs - graceMs) / 1000) * MIN_BYTES_PER_SECOND
    if (neededBytes >= 0 && socket.bytesRead - begun <= neededBytes) end()
  }, everyMs)
  return () => clearInterval(timer)
}

const FIRST_BYTES = 4096
const GROWTH = 4

/**
 * Collects chunks in one buffer, which grows up to `expectedBytes`. Calls `onGrowth` with the number of bytes
 * that each growth allocates. A list of chunks would be no alternative: if each chunk had one byte, the list
 * would use 106 times the memory of the body.
 */
export const createGrowingBuffer = (
  expectedBytes: number,
  onGrowth: (bytes: number) => void = () => undefined,
) => {
  let buffer = Buffer.alloc(0)
  let size = 0
  const grow = (neededBytes: number) => {
    const roomyBytes = Math.min(expectedBytes, Math.max(FIRST_BYTES, GROWTH * neededBytes))
    const larger = Buffer.allocUnsafe(Math.max(neededBytes, roomyBytes))
    onGrowth(larger.length - buffer.length)
    buffer.copy(larger)
    buffer = larger
  }
  return {
    append: (chunk: Buffer) => {
      if (size + chunk.length > buffer.length) grow(size + chunk.length)
      chunk.copy(buffer, size)
      size += chunk.length
    },
    countBytes: () => size,
    readBytes: () => buffer.subarray(0, size),
  }
}

const bodyTooLate = () =>
  new ProblemError('timeout', 'The request did not arrive in time. Send it again over a faster connection.')

/**
 * Reads a whole body into memory. Rejects with `too-large` if the body is too large. Rejects with `timeout`
 * (408) if the body arrives too slowly or after the deadline of the request. Rejects with TooBusy if no
 * memory is free.
 */
export const collectBody = (
  reply: FastifyReply,
  { admission, graceMs }: { admission: Admission; graceMs: number },
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const { request } = reply
    const { raw, deadline } = request
    const maxBytes = findBodyLimit(request)
    const expectedBytes = Number(request.headers['content-length'] ?? maxBytes)
    if (expectedBytes > maxBytes) throw bodyTooLarge(maxBytes)

    const memory: Promise<void>[] = []
    const body = createGrowingBuffer(expectedBytes, (bytes) => {
      const held = admission.holdBodyMemory(reply, bytes)
      held.catch(fail)
      memory.push(held)
    })
    const append = (chunk: Buffer) => {
      if (body.countBytes() + chunk.length > maxBytes) fail(bodyTooLarge(maxBytes))
      else body.append(chunk)
    }
    const finish = () => {
      stop()
      // Refuses a body that has arrived after the deadline. Otherwise a service would time out, and its error
      // would not say that the client was slow.
      if (deadline.getTime() <= Date.now()) reject(bodyTooLate())
      else resolve(Promise.all(memory).then(body.readBytes))
    }
    const fail = (error: unknown) => {
      stop()
      reject(error)
    }
    const disconnect = () => fail(new ServiceError('bad_request', 'The client disconnected.'))
    const timer = setTimeout(() => fail(bodyTooLate()), deadline.getTime() - Date.now())
    const stopWatch = watchSpeed(raw, graceMs, () => fail(new ProblemError('timeout', TOO_SLOW)))
    const stop = () => {
      clearTimeout(timer)
      stopWatch()
      raw.off('data', append).off('end', finish).off('error', disconnect)
    }
    raw.on('data', append).on('end', finish).on('error', disconnect)
  })
