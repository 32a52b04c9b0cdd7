package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// serverName is a name that every certificate which kube-apiserver makes for
// itself contains, whatever address it is reached at.
const serverName = "kubernetes.default.svc"

// writeCredentials writes what kube-apiserver needs to know its clients and to
// sign service account tokens, and returns the token of the only client, a
// cluster administrator.
func writeCredentials(dir string) (token string, err error) {
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	token = hex.EncodeToString(random)
	tokens := fmt.Sprintf("%s,admin,admin,system:masters\n", token)
	if err := os.WriteFile(filepath.Join(dir, tokenFile), []byte(tokens), 0o600); err != nil {
		return "", fmt.Errorf("write the token of the administrator: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", fmt.Errorf("make the key of service account tokens: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("make the key of service account tokens: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, serviceAccountKeyFile), block, 0o600); err != nil {
		return "", fmt.Errorf("write the key of service account tokens: %w", err)
	}
	return token, nil
}

// writeKubeconfig writes a kubeconfig for the API server at url, which trusts
// the certificate that this server made for itself and no other.
func writeKubeconfig(file, url, certificate, token string) error {
	ca, err := os.ReadFile(certificate)
	if err != nil {
		return fmt.Errorf("write %s: read the certificate of the API server: %w", file, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["nearside"] = &clientcmdapi.Cluster{
		Server: url, TLSServerName: serverName, CertificateAuthorityData: ca,
	}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["nearside"] = &clientcmdapi.Context{Cluster: "nearside", AuthInfo: "admin"}
	config.CurrentContext = "nearside"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
