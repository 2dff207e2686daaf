import { ROLES, type Role } from '@leadwire/contracts/roles'
import * as settings from '@leadwire/service-kit/runtime'
import { isLoopback } from '../http/is-loopback'

const PROVIDER = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const
const NEW_USERS = ['OIDC_CREATE_USERS', 'OIDC_ROLE_CLAIM', 'OIDC_ROLES'] as const

const OPTIONAL = { default: undefined }
const MAX_ID = 999_999_999_999_999

const isSecure = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))

const issuer = settings.makeValidator<string | undefined>((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !isSecure(url) || `${url.search}${url.hash}${url.username}${url.password}` !== '')
    throw new TypeError(
      'must be an https:// address without credentials, query and fragment (http:// only for a loopback address)',
    )
  if (url.pathname.includes('/.well-known/'))
    throw new TypeError('must be the issuer, without /.well-known/openid-configuration')
  return text
})

const text = settings.makeValidator<string | undefined>((given) => given)

/** Scopes in the syntax of OAuth 2.0 (RFC 6749, 3.3). */
const scopes = settings.makeValidator<string>((given) => {
  if (/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(given)) return given
  throw new TypeError(`"${given}" is not a list of scopes that are separated by spaces`)
})

const isRole = (word: string): word is Role => (ROLES as readonly string[]).includes(word)

/** Parses pairs such as `leadwire-admins=admin,sales-team=sales`. A claim's value may contain `=`. */
const roles = settings.makeValidator<ReadonlyMap<string, Role> | undefined>((given) => {
  const mapping = new Map<string, Role>()
  for (const pair of settings.parseList(given)) {
    const [, value = '', role = ''] = /^(.+?)\s*=\s*([^=\s]*)$/.exec(pair) ?? []
    if (!isRole(role))
      throw new TypeError(
        `"${pair}" is not a pair such as leadwire-admins=admin (roles: ${ROLES.join(', ')})`,
      )
    mapping.set(value, role)
  }
  return mapping
})

const ALL = [...PROVIDER, ...NEW_USERS, 'OIDC_SCOPES', 'OIDC_NAME']

/**
 * Returns the validators of the settings for sign-in with an identity provider. If one of the settings is
 * set, the issuer, the client id and the client secret are required. The settings for new users belong
 * together.
 */
export const oidcSettings = (env: NodeJS.ProcessEnv) => {
  const isAnySet = (names: readonly string[]) => names.some((name) => settings.isSet(env, name))
  const requireIf = (isNeeded: boolean, desc: string) => (isNeeded ? { desc } : OPTIONAL) as { desc: string }
  const provider = requireIf(isAnySet(ALL), `an identity provider needs ${PROVIDER.join(', ')}`)
  const newUsers = requireIf(isAnySet(NEW_USERS), `the creation of users needs ${NEW_USERS.join(', ')}`)
  return {
    issuer: issuer(provider),
    clientId: text(provider),
    clientSecret: text(provider),
    createUsers: settings.count({ ...newUsers, max: MAX_ID }) as settings.Spec<number | undefined>,
    roleClaim: text(newUsers),
    roles: roles(newUsers),
    scopes: scopes({ default: '' }),
    name: settings.str({ default: 'Single sign-on' }),
  }
}
