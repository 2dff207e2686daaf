import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { named, orNull, recordResponse } from '../api/schemas'
import { SIGN_IN_TAG } from './sign-in-links'
import { START_PATH } from './single-sign-on'

const IdentityProvider = named('IdentityProvider', {
  name: Type.String({
    description: 'The text of the button that opens `url`.',
    examples: ['Single sign-on'],
  }),
  url: Type.String({
    description: 'The address that a person opens in the browser to sign in.',
    format: 'uri',
    examples: ['https://api.example.com/sign-in/oidc'],
  }),
})

const SignInMethods = named('SignInMethods', {
  email: Type.Boolean({ description: 'Whether people can request a link by email.', examples: [true] }),
  oidc: orNull(IdentityProvider, 'The identity provider (OpenID Connect). null if there is none.'),
})

export const retrieveSignInMethods = operation({
  route: 'GET /sign-in-methods',
  scope: null,
  tag: SIGN_IN_TAG,
  summary: 'Retrieve the ways to sign in',
  description: 'Returns the ways in which people can sign in to the console.',
  answer: recordResponse(SignInMethods, 'The ways to sign in.'),
  handler: async ({ dependencies: { identityProviderName: name, configuredAddress } }) => {
    const oidc = name === undefined ? null : { name, url: `${configuredAddress}${START_PATH}` }
    return { email: true, oidc }
  },
})
