import { createHmac, timingSafeEqual } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { describeOperation } from '../api/describe-operation'
import type { Dependencies } from '../api/operation'
import { named, recordResponse } from '../api/schemas'
import type { Principal } from '../auth/authenticate'
import { createFindToken, TokenParams } from './find-token'

/** The minimum time that a person needs to fill in a form. */
const FASTEST_MS = 2000

/** Signs a time with the stamp key of a token. The key is random and has no other use. */
const sign = (key: Uint8Array, ms: number): string => {
  const mac = createHmac('sha256', key).update(`capture-stamp ${ms}`)
  return `${ms}.${mac.digest('base64url')}`
}

const isSigned = (stamp: string, key: Uint8Array, ms: number): boolean => {
  const [given, own] = [Buffer.from(stamp), Buffer.from(sign(key, ms))]
  return given.length === own.length && timingSafeEqual(given, own)
}

/**
 * Returns whether a program seems to have sent a form. This is so if the form was sent too soon after its
 * stamp, or if the stamp is not signed with the token's key. Both times are PostgreSQL's, because one gateway
 * may make the stamp and another gateway may read it.
 */
export const isOfProgram = (
  stamp: string,
  { stampKey, databaseNow }: Pick<Principal, 'stampKey' | 'databaseNow'>,
): boolean => {
  const ms = Number(/^\d{1,15}(?=\.)/.exec(stamp)?.[0])
  return !isSigned(stamp, stampKey!, ms) || databaseNow() - ms < FASTEST_MS
}

const Stamp = named('Stamp', {
  stamp: Type.String({
    description: 'The value for the form field `stamp`.',
    examples: ['1795650000000.x3…'],
  }),
})

export const retrieveStamp = (app: FastifyInstance, dependencies: Dependencies): void => {
  app.get('/capture/:token/stamp', {
    schema: describeOperation({
      operationId: 'retrieveStamp',
      tag: 'Capture',
      summary: 'Retrieve a stamp for a form',
      description:
        'Returns a signed time for the form field `stamp`. A form that is submitted within two seconds of its stamp, or with an invalid stamp, creates a lead with the status `spam`. A stamp does not expire.',
      scopes: null,
      params: TokenParams,
      problems: ['forbidden', 'rate-limited'],
      answer: recordResponse(Stamp, 'The stamp.'),
    }),
    onRequest: createFindToken(dependencies),
    handler: async ({ principal: { stampKey, databaseNow } }) => ({
      data: { stamp: sign(stampKey!, databaseNow()) },
    }),
  })
}
