// A standard OpenID Connect provider on loopback. It prints its URL as a line of JSON, and ends when its input does.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

import { Provider } from 'oidc-provider';

const people = {
  anna: { email: 'anna@example.com', email_verified: true, roles: ['resident'] },
  unverified: { email: 'anna@example.com', email_verified: false, roles: ['resident'] },
  stranger: { email: 'stranger@example.com', email_verified: true, roles: [] },
};

function newKey(kid, alg, type, options) {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' };
}

function newClient(id, alg) {
  return {
    client_id: id,
    client_secret: `secret of ${id}`,
    redirect_uris: ['https://app.example/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_post',
    id_token_signed_response_alg: alg,
  };
}

const configuration = {
  clients: [newClient('their-app', 'RS256'), newClient('their-other-app', 'ES256'), newClient('their-third-app', 'PS256')],
  jwks: {
    keys: [
      newKey('rsa', 'RS256', 'rsa', { modulusLength: 2048 }),
      newKey('pss', 'PS256', 'rsa', { modulusLength: 2048 }),
      newKey('ec', 'ES256', 'ec', { namedCurve: 'P-256' }),
    ],
  },
  scopes: ['openid', 'offline_access', 'email', 'roles'],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], roles: ['roles'] },
  conformIdTokenClaims: false, // the id token itself says who it is about
  findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
  extraTokenClaims: (_, token) => {
    const { email, email_verified } = people[token.accountId] ?? {};
    return { email, email_verified };
  },
  features: {
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        audience: resource,
        scope: 'topology.read light.read plug.write',
        accessTokenFormat: 'jwt',
        accessTokenTTL: 600,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  cookies: { keys: ['only for tests'] },
  ttl: { AccessToken: 600, IdToken: 600, Session: 3600, Grant: 3600, Interaction: 600, RefreshToken: 3600, AuthorizationCode: 60 },
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  server.on('request', new Provider(url, configuration).callback());
  console.log(JSON.stringify({ url }));
});
process.stdin.resume().on('end', () => process.exit(0));
