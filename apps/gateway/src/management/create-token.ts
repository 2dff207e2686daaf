import { Temporal } from '@js-temporal/polyfill'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { SCOPES } from '../auth/authenticate'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf } from '../docs/shared-schemas'
import { bodyOf } from '../http/body'
import { sendData } from '../http/send-json'
import { addFaults } from '../validation/faults'
import { oneOf, text } from '../validation/fields'
import { isInstant } from '../validation/formats'
import { TokenRecord, tokenRecord } from './token-schema'

const CreateToken = Type.Object({
  name: text({ description: 'What the token is for.', examples: ['Website form'] }),
  scopes: Type.Array(oneOf(SCOPES, { description: '`leads` includes `leads:read`.' }), {
    minItems: 1,
    maxItems: 10,
    examples: [['leads']],
  }),
  expires_at: Type.Optional(
    text({
      format: 'instant',
      description: 'When it stops working, ISO 8601 with an offset, in the future. By default never.',
      examples: ['2030-01-01T00:00:00Z'],
    }),
  ),
  test: Type.Optional(
    Type.Boolean({ description: 'Its leads are test leads. By default false.', examples: [false] }),
  ),
})

const CreatedToken = Type.Object({
  ...TokenRecord.properties,
  token: Type.String({ description: 'The token itself, shown only here.', examples: ['lw_live_…'] }),
})

const expiryFaults = (expiresAt: unknown, now: number) => {
  const past =
    typeof expiresAt === 'string' &&
    isInstant(expiresAt) &&
    Temporal.Instant.from(expiresAt).epochMilliseconds <= now
  return past ? { expires_at: ['The expires at must be a date in the future.'] } : {}
}

// PostgreSQL rounds what is finer, and the last second of the year 9999 would become the year 10000.
const inMicroseconds = (instant: string) =>
  Temporal.Instant.from(instant).round({ smallestUnit: 'microsecond', roundingMode: 'trunc' }).toString()

/** POST /manage/tokens. */
export const createToken = (
  app: FastifyInstance,
  { authenticate, clients, validation, now }: Dependencies,
): void => {
  const check = validation.checker(CreateToken)
  app.post(
    '/manage/tokens',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        tag: 'Management',
        summary: 'Create a token',
        scope: 'manage',
        body: CreateToken,
        answer: { description: 'The new token.', schema: dataOf(CreatedToken) },
      }),
    },
    async (request, reply) => {
      const { value, faults, fields } = check(bodyOf(request))
      const allFaults = addFaults(faults ?? {}, expiryFaults((fields ?? value).expires_at, now()))
      if (!value || Object.keys(allFaults).length > 0) throw ServiceError.invalid(allFaults)
      const { token, secret } = await clients.accounts.createToken({
        accountId: request.principal.accountId,
        name: value.name,
        scopes: SCOPES.filter((scope) => value.scopes.includes(scope)),
        test: value.test ?? false,
        expiresAt: value.expires_at && inMicroseconds(value.expires_at),
      })
      return sendData(reply, { ...tokenRecord(token!), token: secret })
    },
  )
}
