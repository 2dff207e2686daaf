import { useEffect, useState } from 'preact/hooks'
import type { Schemas } from '../api'
import { requestLink, signInWithToken } from '../sign-in'
import { keepPage, loadMethods } from '../single-sign-on'
import { Field, useForm } from './form'

/**
 * Leads to the identity provider, if there is one. `keepsTab` opens the provider in another tab, so that this
 * tab keeps its input.
 */
const IdentityProvider = ({ keepsTab }: { keepsTab: boolean }) => {
  const [provider, setProvider] = useState<Schemas['SignInMethods']['oidc']>(null)
  useEffect(() => {
    const controller = new AbortController()
    // If the request fails, the other ways to sign in remain.
    loadMethods(controller.signal).then(
      ({ oidc }) => setProvider(oidc),
      () => undefined,
    )
    return () => controller.abort()
  }, [])
  if (!provider) return null
  return (
    <a
      class="button"
      href={provider.url}
      target={keepsTab ? '_blank' : undefined}
      onClick={keepsTab ? undefined : keepPage}
    >
      {provider.name}
    </a>
  )
}

const EmailForm = () => {
  const [sent, setSent] = useState<{ email: string; minutes: number }>()
  const send = async (fields: FormData) => {
    const email = String(fields.get('email')).trim()
    setSent(undefined)
    setSent({ email, minutes: await requestLink(email) })
  }
  const { onSubmit, errors, failure, isBusy } = useForm(send, ['email'])
  return (
    <form class="part" aria-busy={isBusy} onSubmit={onSubmit}>
      <Field name="email" label="E-mail" errors={errors}>
        {(attributes) => <input type="email" required autocomplete="email" {...attributes} />}
      </Field>
      <p class="outcome" role="status">
        {sent &&
          `If ${sent.email} may sign in here, an e-mail with a link is on its way. Open it in this browser within ${sent.minutes} minutes.`}
      </p>
      {failure}
      <button type="submit">{sent ? 'Send again' : 'Send me a sign-in link'}</button>
    </form>
  )
}

const TokenForm = () => {
  const send = (fields: FormData) => signInWithToken(String(fields.get('token')).trim())
  const { onSubmit, errors, failure, isBusy } = useForm(send, ['token'])
  return (
    <form class="part" aria-busy={isBusy} onSubmit={onSubmit}>
      <Field
        name="token"
        label="Token"
        errors={errors}
        help="For this tab only: the token is deleted when the tab closes. Its scopes determine the pages that you see."
      >
        {(attributes) => (
          <input
            type="password"
            required
            autocomplete="off"
            spellcheck={false}
            class="mono"
            {...attributes}
          />
        )}
      </Field>
      {failure}
      <button type="submit">Sign in</button>
    </form>
  )
}

/**
 * The ways to sign in. `prefersToken` opens the form for a token. `keepsTab` opens the identity provider in
 * another tab.
 */
export const SignInForms = ({ prefersToken = false, keepsTab = false }) => (
  <>
    <IdentityProvider keepsTab={keepsTab} />
    <EmailForm />
    <details open={prefersToken}>
      <summary>Use a token instead</summary>
      <TokenForm />
    </details>
  </>
)
