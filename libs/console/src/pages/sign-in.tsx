import { useEffect } from 'preact/hooks'
import { Title } from '../parts/page'
import { SignInForms } from '../parts/sign-in-forms'

/** Replaces all pages until the user signs in. `because` tells why the last sign-in ended or failed. */
export const SignIn = ({ because }: { because?: string }) => {
  useEffect(() => document.getElementById('email')?.focus(), [])
  return (
    <section class="card sign-in">
      <Title title="Sign in" />
      {because && (
        <p class="error" role="alert">
          {because}
        </p>
      )}
      <SignInForms />
    </section>
  )
}
