/** The text that pages show for an e-mail address: the login name, if the account was made with an invitation link (Decision 0100). */
export function loginOf(email: string): string {
  return email.replace(/@guest\.invalid$/i, "");
}
