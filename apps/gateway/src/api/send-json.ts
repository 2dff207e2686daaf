import type { FastifyReply } from 'fastify'

/** Answers 200 with JSON that is finished already. */
export const sendJson = (reply: FastifyReply, body: Uint8Array | string): FastifyReply =>
  reply.header('content-type', 'application/json; charset=utf-8').send(body)
