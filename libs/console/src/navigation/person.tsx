import { Link } from 'wouter-preact'
import type { Me } from '../api'
import { Action } from '../parts/action'
import { access, askAgain } from '../session'
import { signOut } from '../sign-in'

/** The user or token that is signed in, with the button that signs out. */
export const Person = ({ me: { type, name } }: { me: Me }) => {
  if (access.value.state === 'ended') {
    return (
      <div class="person">
        <button class="quiet" type="button" onClick={askAgain}>
          Sign in
        </button>
      </div>
    )
  }
  return (
    <div class="person">
      {type === 'user' ? (
        <Link href="/me" title="Your sessions">
          {name}
        </Link>
      ) : (
        <span>{name}</span>
      )}
      <Action label="Sign out" quiet run={signOut} />
    </div>
  )
}
