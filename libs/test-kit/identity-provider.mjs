// An identity provider (OpenID Connect) for specs, with the package oidc-provider. It asks for no password:
// the parameter `login_hint` of the authorization request names the person who signs in. Without this
// parameter, the first person signs in. An unknown name cancels the sign-in. The environment variable
// IDENTITY_PROVIDER has the settings. The provider is a separate process, because jest can't load
// oidc-provider.
import { createServer } from 'node:http'
import Provider from 'oidc-provider'

const { port, client, people } = JSON.parse(process.env.IDENTITY_PROVIDER)

/** Grants all requested scopes without asking the person. */
const loadExistingGrant = async ({ oidc }) => {
  const { client, session, params, provider } = oidc
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope(params.scope)
  await grant.save()
  return grant
}

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [client],
  claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_ctx, id) => ({ accountId: id, claims: async () => ({ sub: id, ...people[id] }) }),
  interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
  loadExistingGrant,
  cookies: { keys: ['a key for specs'] },
})
const serve = provider.callback()

const finishInteraction = async (request, response) => {
  const { params } = await provider.interactionDetails(request, response)
  const person = params.login_hint ?? Object.keys(people)[0]
  const isKnown = Object.hasOwn(people, person)
  const result = isKnown ? { login: { accountId: person } } : { error: 'access_denied' }
  await provider.interactionFinished(request, response, result)
}

createServer((request, response) => {
  if (request.url.startsWith('/interaction/')) void finishInteraction(request, response)
  else serve(request, response)
}).listen(port, '127.0.0.1')
