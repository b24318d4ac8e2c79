package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/pflag"
)

// defaultOps is where the operator's port is if nobody says anything else.
const defaultOps = "http://127.0.0.1:8081"

// opsFlag adds --ops, which says where the operator's port is, to the flags of a command.
func opsFlag(f *pflag.FlagSet, to *string) {
	f.Var(newAddress(to, defaultOps), "ops", "`URL` where ops listens.")
	fromEnvironment(f, "ops", "HOTROW_OPS")
}

// tokenFlag adds --token to the flags of a command.
func tokenFlag(f *pflag.FlagSet, to *string, help string) {
	f.StringVar(to, "token", "", help)
	fromEnvironment(f, "token", "HOTROW_TOKEN")
}

// askOperator does a request of the operator's port, with a token if there is one. Whoever
// gets the answer, which is a good one, closes its body.
func askOperator(client *http.Client, req *http.Request, token string) (*http.Response, error) {
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err,
			trustHint(err, "is hotrow serving, with its operator's listener there?"))
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusUnauthorized {
		return nil, errors.New("the operator's port wants a token with the role operator: " +
			"set HOTROW_TOKEN")
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return nil, fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text)))
}
