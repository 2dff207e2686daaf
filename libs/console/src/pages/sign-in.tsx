import { useEffect, useState } from 'preact/hooks'
import { Field } from '../parts/form'
import { Title } from '../parts/page'
import { endedBecause, signIn } from '../session'

export const SignIn = () => {
  const [error, setError] = useState<string>()
  const why = error ?? endedBecause.value
  useEffect(() => document.getElementById('token')?.focus(), [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    const given = String(fields.get('token')).trim()
    // Rejects characters that an HTTP header cannot carry.
    if (/^[\x21-\x7e]+$/.test(given)) signIn(given, fields.has('everywhere'))
    else setError('This is not a token.')
  }
  return (
    <form class="card sign-in" onSubmit={submit}>
      <Title title="Sign in" />
      <p class="faint">Use a token of your account. Its scopes determine the pages that you see.</p>
      <Field name="token" label="Token" errors={why ? { token: [why] } : {}}>
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
      <label class="box">
        <input type="checkbox" name="everywhere" /> Stay signed in in this browser
      </label>
      <p class="faint">Otherwise the token is stored in this tab only and deleted when the tab closes.</p>
      <button type="submit">Sign in</button>
    </form>
  )
}
