import { createHmac, timingSafeEqual } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../api/dependencies'
import { describeOperation } from '../api/describe-operation'
import { dataOf, named } from '../api/schemas'
import { createFindToken, TokenParams } from './find-token'

/** People need longer to fill in a form. */
const FASTEST_MS = 2000

const sign = (secret: string, tokenId: number, ms: number): string => {
  // Service tokens sign nothing else.
  const mac = createHmac('sha256', secret).update(`capture-stamp ${tokenId} ${ms}`)
  return `${ms}.${mac.digest('base64url')}`
}

const isSigned = (stamp: string, secrets: readonly string[], tokenId: number, ms: number) =>
  secrets.some((secret) => {
    const [given, own] = [stamp, sign(secret, tokenId, ms)].map((text) => Buffer.from(text))
    return given!.length === own!.length && timingSafeEqual(given!, own!)
  })

/** Whether a form was sent too soon after its stamp, or its stamp is none of the token's: only programs make one up. */
export const isOfProgram = (
  stamp: string,
  { stampSecrets, now }: Pick<Dependencies, 'stampSecrets' | 'now'>,
  tokenId: number,
): boolean => {
  const ms = Number(/^\d{1,15}(?=\.)/.exec(stamp)?.[0])
  return !isSigned(stamp, secretsOf(stampSecrets()), tokenId, ms) || now() - ms < FASTEST_MS
}

/** Without service tokens (SERVICE_AUTH=none) anybody can make a stamp. */
const secretsOf = (secrets: readonly string[]) => (secrets.length > 0 ? secrets : ['none'])

const Stamp = named('Stamp', {
  stamp: Type.String({ description: 'For the form field `stamp`.', examples: ['1795650000000.x3…'] }),
})

export const retrieveStamp = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { stampSecrets, now } = dependencies
  app.get('/capture/:token/stamp', {
    schema: describeOperation({
      operationId: 'retrieveStamp',
      tag: 'Capture',
      summary: 'Retrieve a stamp for a form',
      description:
        'A signed time for the form field `stamp`. A form that is sent within two seconds of its stamp, or with an invalid one, becomes a lead with the status `spam`. It does not expire.',
      scopes: null,
      params: TokenParams,
      problems: ['forbidden'],
      answer: dataOf(Stamp, 'The stamp.'),
    }),
    onRequest: createFindToken(dependencies),
    handler: async ({ principal }) => ({
      data: { stamp: sign(secretsOf(stampSecrets())[0]!, principal.tokenId, now()) },
    }),
  })
}
